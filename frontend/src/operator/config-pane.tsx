/** The Config of each target: what the schedule chose, and values typed over it. */
import type { TargetPreview } from "../api/generated.gen";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import type { Store } from "./store";
import { targetLabel } from "./words";

export function ConfigPane({ store }: { store: Store }) {
  const targets = store.preview.answer.value?.targets ?? [];
  return (
    <div class="op-config">
      {targets.map((shown) => {
        const knobs = Object.entries(shown.config);
        const given = store.configs.value[shown.target] ?? {};
        return (
          <section key={shown.target}>
            <h3 class="kc-target-name" data-target={shown.target}>
              {targetLabel(store, shown.target)}
            </h3>
            {knobs.length === 0 ? (
              <p class="kc-faint">{t("config.none")}</p>
            ) : (
              <dl>
                {knobs.map(([knob, value]) => (
                  <div key={knob}>
                    <dt class="kc-mono">
                      <label for={`kc-knob-${shown.target}-${knob}`}>{knob}</label>
                    </dt>
                    <dd>
                      <select
                        id={`kc-knob-${shown.target}-${knob}`}
                        class="kc-select is-small kc-mono"
                        value={spell(value)}
                        onChange={(event) =>
                          store.setKnob(shown.target, knob, JSON.parse(event.currentTarget.value))
                        }
                      >
                        {choices(shown, knob, value).map((choice) => (
                          <option key={choice} value={choice}>
                            {choice.replaceAll('"', "")}
                          </option>
                        ))}
                      </select>
                      <button
                        type="button"
                        class="kc-icon-button"
                        aria-label={`${t("action.reset")} ${knob}`}
                        title={t("action.reset")}
                        disabled={!(knob in given)}
                        onClick={() => store.setKnob(shown.target, knob, undefined)}
                      >
                        <Icon name="stale" small />
                      </button>
                    </dd>
                  </div>
                ))}
              </dl>
            )}
          </section>
        );
      })}
      <p class="kc-faint">{t("config.hint")}</p>
    </div>
  );
}

/** Values are told apart, and sent back, as the JSON they came as. */
const spell = (value: unknown): string => JSON.stringify(value);

/** The values that the schedule allows; the present one too when it stands outside them. */
function choices(shown: TargetPreview, knob: string, value: unknown): string[] {
  const allowed = shown.knobs.find((item) => item.name === knob)?.values ?? [];
  return [...new Set([...allowed, value].map(spell))];
}

/** The Config of each target: what the schedule chose, and values typed over it. */
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
                      <input
                        id={`kc-knob-${shown.target}-${knob}`}
                        class="kc-input is-small kc-mono"
                        value={spell(value)}
                        onChange={(event) =>
                          store.setKnob(shown.target, knob, read(event.currentTarget.value))
                        }
                      />
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

const spell = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

/** A number, true/false or a list where it is one; other words stay words; nothing typed clears the value. */
function read(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  try {
    return JSON.parse(trimmed);
  } catch {
    return trimmed;
  }
}

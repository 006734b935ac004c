import { t } from "../i18n";
import { keyLabel } from "../ui/commands";
import { Icon, IconButton } from "../ui/icons";
import { JOB_BUTTONS } from "./commands";
import { MOST_TRIALS, type Store } from "./store";
import { TargetChooser } from "./target-chooser";
import { targetLabel, targetShort } from "./words";

export function Toolbar({ store }: { store: Store }) {
  const layout = store.layout.value;
  return (
    <div class="op-bar" role="toolbar" aria-label={t("palette.open")}>
      <IconButton
        icon="sidebar"
        label={layout.railOpen ? t("rail.hide") : t("rail.show")}
        pressed={layout.railOpen}
        onClick={() => {
          store.layout.value = { ...layout, railOpen: !layout.railOpen };
        }}
      />
      <input
        class="kc-input op-name"
        aria-label={t("operator.name")}
        placeholder={t("operator.untitled")}
        value={store.name.value}
        maxLength={120}
        onChange={(event) => void store.rename(event.currentTarget.value)}
        onInput={(event) => {
          store.name.value = event.currentTarget.value;
        }}
      />
      <Versions store={store} />
      <button
        type="button"
        class="kc-button"
        disabled={!store.dirty.value || store.saving.value}
        title={`${t("action.save")} (${keyLabel("Mod+S")})`}
        onClick={() => void store.save()}
      >
        <Icon name="save" />
        {t("action.save")}
      </button>
      <div class="op-bar-space" />
      <fieldset class="op-targets">
        <legend class="kc-visually-hidden">{t("run.targets")}</legend>
        {store.targets.value.map((target) => (
          <label
            key={target}
            class="kc-checkbox"
            title={`${t("run.targets")}: ${targetLabel(store, target)}`}
          >
            <input
              type="checkbox"
              checked={store.ticked.value.includes(target)}
              onChange={(event) => {
                store.tick(target, event.currentTarget.checked);
              }}
            />
            <span class="kc-target-name" data-target={target}>
              {targetShort(target, store.targets.value)}
            </span>
          </label>
        ))}
      </fieldset>
      <TargetChooser store={store} />
      {JOB_BUTTONS.map(({ kind, icon, keys }) => {
        const obstacle = store.obstacle(kind);
        return (
          <button
            key={kind}
            type="button"
            class={`kc-button${kind === "check" ? " is-primary" : ""}`}
            data-run={kind}
            disabled={obstacle !== null || store.starting.value !== null}
            title={
              obstacle ?? `${t(`action.${kind}`)} (${keyLabel(keys)}): ${store.targetsFor(kind).join(", ")}`
            }
            onClick={() => void store.run(kind)}
          >
            <Icon name={icon} />
            {t(`action.${kind}`)}
          </button>
        );
      })}
      <label class="op-trials" title={t("run.trials_range", { most: MOST_TRIALS })}>
        <span class="kc-soft">{t("run.trials")}</span>
        <input
          class="kc-input"
          inputMode="numeric"
          aria-invalid={store.trials.value === null}
          value={store.trialsText.value}
          onInput={(event) => {
            store.trialsText.value = event.currentTarget.value;
          }}
        />
      </label>
    </div>
  );
}

function Versions({ store }: { store: Store }) {
  const operator = store.operator.value;
  if (!operator) return null;
  const shown = store.context.version?.number ?? operator.latest_number;
  const current = store.base.value === operator.latest_number ? operator.latest_number : shown;
  return (
    <select
      class="kc-select"
      aria-label={t("operator.version")}
      value={current}
      onChange={(event) => location.assign(`/operators/${operator.id}/v/${event.currentTarget.value}`)}
    >
      {operator.versions.map((version) => (
        <option key={version.number} value={version.number}>
          {`${version.number}${version.message ? `  ${version.message}` : ""}`}
        </option>
      ))}
    </select>
  );
}

import { t } from "../i18n";
import { duration } from "../ui/format";
import { QueueWords } from "../ui/frame";
import { Icon } from "../ui/icons";
import { shapeText } from "./editor-column";
import type { Store } from "./store";

const ICONS = { blank: "text", wrong: "warning", stale: "stale", fresh: "check" } as const;

export function StatusBar({ store }: { store: Store }) {
  const { answer, error, pending } = store.preview;
  const shown = answer.value;
  const state =
    store.blank.value && !error.value ? "blank" : error.value ? "wrong" : pending.value ? "stale" : "fresh";
  // Figures of an older text beside a problem would be read as this one's.
  const current = error.value ? null : shown;
  return (
    <>
      <span
        class={`is-part is-state${state === "wrong" ? " kc-bad" : ""}`}
        id="kc-preview-state"
        data-state={state}
      >
        <Icon name={ICONS[state]} small />
        {t(`status.${state}`)}
      </span>
      {current && (
        <span class="is-part kc-mono is-io">
          {current.inputs.map((item) => `${item.name} ${shapeText(item)}`).join("  ")}
          {" → "}
          {current.outputs.map((item) => `${item.name} ${shapeText(item)}`).join("  ")}
        </span>
      )}
      {current && (
        <span class="is-part is-time">
          {t("status.preview_time", { time: duration(current.milliseconds) })}
        </span>
      )}
      <span class="is-part is-saved">
        {store.blank.value && !store.operator.value
          ? ""
          : store.dirty.value
            ? t("status.dirty")
            : savedWords(store)}
      </span>
      <span class="is-space" />
      <QueueWords {...store.session} />
    </>
  );
}

function savedWords(store: Store): string {
  const number = store.operator.value?.latest_number;
  return number === undefined ? "" : t("operator.saved", { number });
}

import { t } from "../i18n";
import { duration } from "../ui/format";
import { QueueWords } from "../ui/frame";
import { Icon } from "../ui/icons";
import { shapeText } from "./editor-column";
import type { Store } from "./store";

export function StatusBar({ store }: { store: Store }) {
  const { answer, error, pending } = store.preview;
  const shown = answer.value;
  const state = error.value ? "wrong" : pending.value ? "stale" : "fresh";
  return (
    <>
      <span
        class={`is-part is-state${state === "wrong" ? " kc-bad" : ""}`}
        id="kc-preview-state"
        data-state={state}
      >
        <Icon name={state === "wrong" ? "warning" : state === "stale" ? "stale" : "check"} small />
        {t(`status.${state}`)}
      </span>
      {shown && (
        <span class="is-part kc-mono is-io">
          {shown.inputs.map((item) => `${item.name} ${shapeText(item)}`).join("  ")}
          {" → "}
          {shown.outputs.map((item) => `${item.name} ${shapeText(item)}`).join("  ")}
        </span>
      )}
      {shown && (
        <span class="is-part is-time">
          {t("status.preview_time", { time: duration(shown.milliseconds) })}
        </span>
      )}
      <span class="is-part is-saved">{store.dirty.value ? t("status.dirty") : savedWords(store)}</span>
      <span class="is-space" />
      <QueueWords {...store.session} />
    </>
  );
}

function savedWords(store: Store): string {
  const number = store.operator.value?.latest_number;
  return number === undefined ? "" : t("operator.saved", { number });
}

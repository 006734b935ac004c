/** Sources side by side, in any order; under them graph, tile, ONNX and Config. */
import type { TargetPreview } from "../api/generated.gen";
import { CodeView } from "../editor/code-view";
import { t } from "../i18n";
import { Facts } from "../ui/facts";
import { Icon, IconButton } from "../ui/icons";
import { Splitter } from "../ui/splitter";
import { CopyButton, download } from "../ui/take";
import { ConfigPane } from "./config-pane";
import { type Layout, type LowerTab, moved } from "./layout";
import type { Store } from "./store";
import { narrow } from "./width";
import { sourceFile, staleWords, targetLabel, targetShort } from "./words";

/** What a pane's head carries while it is dragged: its target. */
const DRAGGED = "application/x-kernelcat-target";

type Arrange = (change: Partial<Layout>) => void;

export function Panes({ store, arrange }: { store: Store; arrange: Arrange }) {
  const layout = store.layout.value;
  return (
    <div class="op-panes">
      {narrow.value ? (
        <OnePane store={store} arrange={arrange} />
      ) : (
        <div class="op-sources">
          {store.targets.value.map((target) => (
            <SourcePane key={target} store={store} target={target} />
          ))}
        </div>
      )}
      {layout.lowerOpen && (
        <Splitter
          along="row"
          label={t("splitter.panes")}
          size={layout.lower}
          smallest={80}
          largest={() => window.innerHeight - 280}
          sign={-1}
          onResize={(lower) => arrange({ lower })}
        />
      )}
      <LowerPane store={store} arrange={arrange} />
    </div>
  );
}

/** Where three panes have no room, one stands at a time, with a tab for each. */
function OnePane({ store, arrange }: { store: Store; arrange: Arrange }) {
  const targets = store.targets.value;
  const wanted = store.layout.value.sourceTarget;
  const target = targets.includes(wanted) ? wanted : (targets[0] ?? "");
  return (
    <div class="op-sources is-one">
      <div class="kc-tabs">
        <div role="tablist" class="is-tabs" aria-label={t("run.targets")}>
          {targets.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={name === target}
              onClick={() => arrange({ sourceTarget: name })}
            >
              <span class="kc-target-name" data-target={name}>
                {targetShort(name, targets)}
              </span>
            </button>
          ))}
        </div>
      </div>
      {target && <SourcePane key={target} store={store} target={target} />}
    </div>
  );
}

const shownTarget = (store: Store, target: string): TargetPreview | null =>
  store.preview.answer.value?.targets.find((item) => item.target === target) ?? null;

function SourcePane({ store, target }: { store: Store; target: string }) {
  const shown = shownTarget(store, target);
  const stale = staleWords(store);
  const label = shown?.label || targetLabel(store, target);
  const file = sourceFile(shown?.language ?? "");
  return (
    <section
      class="op-pane"
      data-target={target}
      data-pane={target}
      aria-label={t("pane.code", { target: label })}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes(DRAGGED)) event.preventDefault();
      }}
      onDrop={(event) => {
        const which = event.dataTransfer?.getData(DRAGGED);
        if (which) store.show(moved(store.targets.value, which, target));
      }}
    >
      <header class="op-pane-head">
        {store.targets.value.length > 1 && !narrow.value && (
          <Grip store={store} target={target} label={label} />
        )}
        <h2 class="kc-target-name" data-target={target}>
          {targetShort(target, store.targets.value)}
        </h2>
        <span class="kc-faint is-architecture" title={label}>
          {[label, shown?.architecture].filter(Boolean).join(", ")}
        </span>
        <span class="op-pane-tools">
          <CopyButton
            text={() => shown?.source ?? ""}
            what={t("pane.code", { target: targetShort(target) })}
            disabled={!shown?.source}
          />
          <IconButton
            icon="download"
            label={`${t("action.download")} ${file}`}
            disabled={!shown?.source}
            onClick={() => download(file, shown?.source ?? "")}
          />
          {store.targets.value.length > 1 && (
            <IconButton
              icon="close"
              label={t("pane.close", { target: label })}
              onClick={() => store.show(store.targets.value.filter((item) => item !== target))}
            />
          )}
        </span>
      </header>
      <div class="op-pane-facts">
        {stale ? (
          <span class="kc-fact is-stale">
            <Icon name="stale" small />
            {stale}
          </span>
        ) : (
          shown && <Facts facts={shown.facts} />
        )}
      </div>
      <div class={`op-pane-body${stale ? " is-stale" : ""}`}>
        <PaneText shown={shown} label={t("pane.code", { target: label })} />
      </div>
    </section>
  );
}

/** What a pane is moved by: dragged onto another pane, or with the arrow keys. */
function Grip({ store, target, label }: { store: Store; target: string; label: string }) {
  const targets = store.targets.value;
  const step = (by: number) => {
    const other = targets[targets.indexOf(target) + by];
    if (other) store.show(moved(targets, target, other));
  };
  return (
    <button
      type="button"
      class="op-grip"
      draggable
      title={t("pane.move")}
      aria-label={`${t("pane.move")}: ${label}`}
      onDragStart={(event) => event.dataTransfer?.setData(DRAGGED, target)}
      onKeyDown={(event) => {
        if (event.key === "ArrowLeft") step(-1);
        if (event.key === "ArrowRight") step(1);
      }}
    >
      <Icon name="grip" />
    </button>
  );
}

function PaneText({ shown, label }: { shown: TargetPreview | null; label: string }) {
  if (!shown) return <p class="op-pane-note kc-faint">{t("pane.waiting")}</p>;
  if (shown.error) {
    return (
      <div class="op-pane-note">
        <p class="kc-error">
          <span class="kc-mono">{shown.error.code}</span> {shown.error.message}
        </p>
        <p class="kc-soft">{shown.error.hint || t("pane.failed")}</p>
      </div>
    );
  }
  return <CodeView text={shown.source} language="c" label={label} foldHelpers />;
}

const TABS: readonly LowerTab[] = ["graph", "tile", "onnx", "config"];

function LowerPane({ store, arrange }: { store: Store; arrange: Arrange }) {
  const layout = store.layout.value;
  const answer = store.preview.answer.value;
  const tab = layout.lowerTab;
  const target = store.targets.value.includes(layout.lowerTarget)
    ? layout.lowerTarget
    : (store.targets.value[0] ?? "");
  const tile = shownTarget(store, target)?.tile ?? "";
  const text = tab === "graph" ? (answer?.graph ?? "") : tab === "onnx" ? (answer?.onnx ?? "") : tile;
  return (
    <section
      class={`op-lower${layout.lowerOpen ? "" : " is-closed"}`}
      data-pane="lower"
      style={layout.lowerOpen ? { height: `${layout.lower}px` } : {}}
    >
      <div class="kc-tabs">
        <div role="tablist" class="is-tabs">
          {TABS.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={layout.lowerOpen && name === tab}
              onClick={() => arrange({ lowerTab: name, lowerOpen: !(layout.lowerOpen && name === tab) })}
            >
              {t(`pane.${name}`)}
            </button>
          ))}
        </div>
        {layout.lowerOpen && tab === "tile" && (
          <select
            class="kc-select is-small"
            aria-label={t("job.target")}
            value={target}
            onChange={(event) => arrange({ lowerTarget: event.currentTarget.value })}
          >
            {store.targets.value.map((name) => (
              <option key={name} value={name}>
                {targetLabel(store, name)}
              </option>
            ))}
          </select>
        )}
        <span class="is-space" />
        {layout.lowerOpen && tab !== "config" && (
          <CopyButton text={() => text} what={t(`pane.${tab}`)} disabled={!text} />
        )}
      </div>
      {layout.lowerOpen && (
        <div
          class={`op-lower-body${staleWords(store) ? " is-stale" : ""}`}
          role="tabpanel"
          aria-label={t(`pane.${tab}`)}
        >
          {tab === "config" ? (
            <ConfigPane store={store} />
          ) : tab === "onnx" && text.startsWith("# ") ? (
            <div class="op-pane-note">
              <p>{t("pane.no_onnx")}</p>
              <p class="kc-soft">{text.slice(2)}</p>
            </div>
          ) : (
            <CodeView text={text} language="listing" label={t(`pane.${tab}`)} />
          )}
        </div>
      )}
    </section>
  );
}

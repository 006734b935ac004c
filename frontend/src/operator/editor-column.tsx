/** The formula with its problem line and the shapes of inputs and outputs under it; heights never jump. */
import { useState } from "preact/hooks";
import type { TensorShape } from "../api/generated.gen";
import { FormulaEditor } from "../editor/formula-editor";
import { Typeset } from "../editor/typeset";
import { t } from "../i18n";
import { Icon, IconButton } from "../ui/icons";
import { editorHandle } from "./focus";
import { readShape } from "./shape-text";
import type { Store } from "./store";

export function EditorColumn({ store }: { store: Store }) {
  return (
    <section class="op-editor" aria-label={t("editor.label")} data-pane="editor">
      <FormulaEditor
        text={store.source.peek()}
        error={store.preview.error.value}
        operators={() => store.catalogOperators.value}
        onChange={(text) => {
          store.source.value = text;
        }}
        handle={(handle) => {
          editorHandle.value = handle;
          handle.focus();
        }}
      />
      <Typeset source={store.source.value} label={t("editor.typeset")} />
      <div class="op-problem-place">
        <Problem store={store} />
      </div>
      <Shapes store={store} />
    </section>
  );
}

function Problem({ store }: { store: Store }) {
  const error = store.preview.error.value;
  if (store.blank.value && !error) {
    return (
      <div class="op-problem is-blank" role="status">
        <span>
          {t("editor.blank")} <a href="/gallery">{t("editor.from_gallery")}</a>
        </span>
      </div>
    );
  }
  if (!error) {
    return (
      <div class="op-problem is-none" role="status">
        <Icon name="check" small />
        <span>{t("editor.no_problems")}</span>
      </div>
    );
  }
  return (
    <div class="op-problem" role="alert">
      <Icon name="warning" />
      <button
        type="button"
        title={
          error.line === null
            ? error.code
            : t("editor.problem", { line: error.line, column: error.column ?? 1 })
        }
        onClick={() => editorHandle.value?.goTo(error)}
      >
        <span class="is-message">
          <span class="kc-mono kc-bad">{error.code}</span>
          {error.line !== null && (
            <span class="kc-mono kc-faint">{`${error.line}:${error.column ?? 1}`}</span>
          )}
          <span>{error.message}</span>
        </span>
        {error.hint && <span class="kc-soft">{t("trouble.hint", { hint: error.hint })}</span>}
      </button>
    </div>
  );
}

function Shapes({ store }: { store: Store }) {
  const answer = store.preview.answer.value;
  return (
    <div class="op-shapes">
      <h2>{t("shapes.title")}</h2>
      {!answer || answer.inputs.length === 0 ? (
        <p class="kc-faint">{t("shapes.none")}</p>
      ) : (
        <ul>
          {answer.inputs.map((input) => (
            <InputShape key={input.name} store={store} input={input} />
          ))}
        </ul>
      )}
      {answer && answer.outputs.length > 0 && (
        <>
          <h2>{t("shapes.outputs")}</h2>
          <ul>
            {answer.outputs.map((output) => (
              <li key={output.name}>
                <span class="kc-mono is-name">{output.name}</span>
                <span class="kc-mono is-shape">{shapeText(output)}</span>
                <Symbols tensor={output} />
              </li>
            ))}
          </ul>
        </>
      )}
    </div>
  );
}

function InputShape({ store, input }: { store: Store; input: TensorShape }) {
  const [typed, setTyped] = useState<string | null>(null);
  const [left, setLeft] = useState(false);
  const given = store.shapes.value[input.name];
  // What the formula does not take is kept as well: the problem line says why.
  const held = (store.preview.error.value && given) || shapeText(input);
  const reading = typed === null ? null : readShape(typed, input.dtype);
  const problem = reading && "problem" in reading ? t(reading.problem, reading.values) : "";
  const commit = (text: string) => {
    const wanted = readShape(text, input.dtype);
    setLeft(true);
    if ("problem" in wanted) return;
    setTyped(null);
    if (wanted.shape !== held) store.shapes.value = { ...store.shapes.value, [input.name]: wanted.shape };
  };
  const reset = () => {
    setTyped(null);
    const { [input.name]: _dropped, ...rest } = store.shapes.value;
    store.shapes.value = rest;
  };
  return (
    <li>
      <label class="kc-mono is-name" for={`kc-shape-${input.name}`}>
        {input.name}
      </label>
      <input
        id={`kc-shape-${input.name}`}
        class="kc-input is-small kc-mono is-shape"
        aria-label={t("shapes.label", { name: input.name })}
        aria-invalid={problem !== ""}
        aria-describedby={problem ? `kc-shape-problem-${input.name}` : undefined}
        title={problem}
        value={typed ?? held}
        spellcheck={false}
        onInput={(event) => {
          setTyped(event.currentTarget.value);
          setLeft(false);
        }}
        onBlur={(event) => typed !== null && commit(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit(event.currentTarget.value);
          if (event.key === "Escape") setTyped(null);
        }}
      />
      <Symbols tensor={input} />
      {(given !== undefined || typed !== null) && (
        <IconButton icon="stale" label={`${t("action.reset")} ${input.name}`} onClick={reset} />
      )}
      {problem && left && (
        <p class="is-problem kc-bad" role="alert" id={`kc-shape-problem-${input.name}`}>
          {problem}
        </p>
      )}
    </li>
  );
}

/** `4096x1024:f32`, the form in which shapes are given everywhere. */
export function shapeText(tensor: TensorShape): string {
  return `${tensor.shape.length === 0 ? "scalar" : tensor.shape.join("x")}:${tensor.dtype}`;
}

/** The names of symbolic sizes in axis order: `M K`. */
function Symbols({ tensor }: { tensor: TensorShape }) {
  const named = tensor.symbolic.filter((symbol) => !/^\d*$/.test(symbol));
  return <span class="kc-mono kc-faint is-symbols">{named.join(" ")}</span>;
}

/** The formula with its problem line and the shapes of inputs and outputs under it; heights never jump. */
import { useState } from "preact/hooks";
import type { TensorShape } from "../api/generated.gen";
import { FormulaEditor } from "../editor/formula-editor";
import { Typeset } from "../editor/typeset";
import { t } from "../i18n";
import { Icon, IconButton } from "../ui/icons";
import { editorHandle } from "./focus";
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

const SHAPE = /^(scalar|\d+(x\d+)*):\w+$/;

function InputShape({ store, input }: { store: Store; input: TensorShape }) {
  const [typed, setTyped] = useState<string | null>(null);
  const held = shapeText(input);
  const invalid = typed !== null && !SHAPE.test(typed.trim());
  const given = store.shapes.value[input.name];
  const commit = (text: string) => {
    setTyped(null);
    const wanted = text.trim();
    if (SHAPE.test(wanted) && wanted !== held)
      store.shapes.value = { ...store.shapes.value, [input.name]: wanted };
  };
  const reset = () => {
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
        aria-invalid={invalid}
        title={invalid ? t("shapes.invalid") : ""}
        value={typed ?? held}
        spellcheck={false}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onBlur={(event) => commit(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") commit(event.currentTarget.value);
          if (event.key === "Escape") setTyped(null);
        }}
      />
      <Symbols tensor={input} />
      {given !== undefined && <IconButton icon="stale" label={t("action.reset")} onClick={reset} />}
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

/** The command palette (Mod+K) and the list of keys (?). */
import { signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { allCommands, type Command, keyLabel, rank } from "./commands";
import { Icon } from "./icons";

type Sheet = "commands" | "keys" | null;
const open = signal<Sheet>(null);

export const openPalette = (): void => {
  open.value = "commands";
};

export const openKeys = (): void => {
  open.value = "keys";
};

export function Palette() {
  if (open.value === null) return null;
  return <Dialog sheet={open.value} />;
}

function Dialog({ sheet }: { sheet: "commands" | "keys" }) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Before the next paint: keys typed right after Mod+K belong to the palette, not to the page.
  useLayoutEffect(() => {
    dialog.current?.showModal();
  }, []);
  const close = () => {
    dialog.current?.close();
    open.value = null;
  };
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes a dialog by itself; the click is for the backdrop
    <dialog
      ref={dialog}
      class="kc-dialog"
      aria-label={t(sheet === "keys" ? "keys.title" : "palette.open")}
      onClose={() => {
        open.value = null;
      }}
      onClick={(event) => event.target === dialog.current && close()}
    >
      {sheet === "keys" ? <KeyList close={close} /> : <Search close={close} />}
    </dialog>
  );
}

function Search({ close }: { close: () => void }) {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState(0);
  const list = useRef<HTMLUListElement>(null);
  const found = rank(
    query,
    allCommands().filter((command) => command.run !== openPalette && (command.enabled?.() ?? true)),
  ).slice(0, 60);
  const at = Math.min(chosen, found.length - 1);

  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
  }, [at]);

  const run = (command: Command | undefined) => {
    if (!command) return;
    close();
    command.run();
  };
  const press = (event: KeyboardEvent) => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setChosen((at + step + found.length) % Math.max(1, found.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[at]);
    }
  };
  return (
    <>
      <input
        class="kc-palette-input"
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls="kc-palette-list"
        aria-activedescendant={found[at] ? `kc-command-${at}` : undefined}
        aria-label={t("palette.placeholder")}
        placeholder={t("palette.placeholder")}
        value={query}
        autofocus
        onInput={(event) => {
          setQuery(event.currentTarget.value);
          setChosen(0);
        }}
        onKeyDown={press}
      />
      <ul
        class="kc-palette-list"
        id="kc-palette-list"
        role="listbox"
        ref={list}
        aria-label={t("palette.open")}
      >
        {found.map((command, place) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keys of this list
          // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the input (aria-activedescendant)
          <li
            key={command.id}
            id={`kc-command-${place}`}
            role="option"
            aria-selected={place === at}
            onClick={() => run(command)}
          >
            <Icon name={command.icon ?? "arrow"} />
            <span class="is-title">{command.title}</span>
            {command.group && <span class="kc-faint">{command.group}</span>}
            {command.keys && <kbd>{keyLabel(command.keys)}</kbd>}
          </li>
        ))}
        {found.length === 0 && <li class="is-empty">{t("palette.empty")}</li>}
      </ul>
    </>
  );
}

function KeyList({ close }: { close: () => void }) {
  const rows = allCommands().filter((command) => command.keys);
  return (
    <div class="kc-keys">
      <div class="kc-dialog-head">
        <h2>{t("keys.title")}</h2>
        <button type="button" class="kc-button is-small" onClick={close}>
          {t("action.close")}
        </button>
      </div>
      <dl>
        {rows.map((command) => (
          <div key={command.id}>
            <dt>{command.title}</dt>
            <dd>
              <kbd>{keyLabel(command.keys ?? "")}</kbd>
            </dd>
          </div>
        ))}
        <div>
          <dt>{t("keys.rows")}</dt>
          <dd>
            <kbd>j</kbd> <kbd>k</kbd> <kbd>Enter</kbd>
          </dd>
        </div>
        <div>
          <dt>{t("keys.filter")}</dt>
          <dd>
            <kbd>/</kbd>
          </dd>
        </div>
      </dl>
    </div>
  );
}

/** The menu from which targets get a pane, by family. */
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CatalogTarget } from "../api/generated.gen";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { MOST_TARGETS } from "./layout";
import type { Store } from "./store";
import { targetShort } from "./words";

const MENU = "op-target-menu";

export function TargetChooser({ store }: { store: Store }) {
  const button = useRef<HTMLButtonElement>(null);
  const menu = useRef<HTMLFieldSetElement>(null);
  const [open, setOpen] = useState(false);
  useLayoutEffect(() => place(button.current, menu.current), [open]);
  return (
    <>
      <button
        ref={button}
        type="button"
        class="kc-button is-icon"
        title={t("targets.choose")}
        aria-label={t("targets.choose")}
        popovertarget={MENU}
      >
        <Icon name="plus" />
      </button>
      <fieldset
        ref={menu}
        id={MENU}
        popover="auto"
        class="op-target-menu"
        onToggle={(event) => setOpen(event.newState === "open")}
      >
        <legend class="kc-visually-hidden">{t("targets.choose")}</legend>
        {open && <Families store={store} />}
      </fieldset>
    </>
  );
}

function Families({ store }: { store: Store }) {
  const shown = store.targets.value;
  const families = new Map<string, CatalogTarget[]>();
  for (const item of store.catalogTargets.value) {
    const family = targetShort(item.target);
    families.set(family, [...(families.get(family) ?? []), item]);
  }
  const full = shown.length >= MOST_TARGETS;
  return (
    <>
      {[...families].map(([family, targets]) => (
        <section key={family}>
          <h3 class="kc-target-name" data-target={targets[0]?.target}>
            {family}
          </h3>
          {targets.map(({ target, label }) => (
            <label key={target} class="kc-checkbox">
              <input
                type="checkbox"
                checked={shown.includes(target)}
                disabled={shown.includes(target) ? shown.length === 1 : full}
                onChange={(event) =>
                  store.show(
                    event.currentTarget.checked
                      ? [...shown, target]
                      : shown.filter((item) => item !== target),
                  )
                }
              />
              <span>{label}</span>
              <span class="kc-faint kc-mono">{target}</span>
            </label>
          ))}
        </section>
      ))}
      <footer>
        <button type="button" class="kc-button" onClick={() => store.show(store.context.targets)}>
          {t("targets.proposed")}
        </button>
        <span class="kc-faint">{t("targets.most", { most: MOST_TARGETS })}</span>
      </footer>
    </>
  );
}

/** Under the button, inside the window. */
function place(button: HTMLElement | null, menu: HTMLElement | null): void {
  if (!button || !menu?.matches(":popover-open")) return;
  const at = button.getBoundingClientRect();
  menu.style.left = `${Math.max(8, Math.min(at.left, window.innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${at.bottom + 4}px`;
}

/** Keyboard selection of rows in every server-rendered list: j/k or arrows, Enter opens, / goes to the filter. */

const isControl = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT|BUTTON|A)$/.test(target.tagName);

function select(rows: readonly HTMLTableRowElement[], row: HTMLTableRowElement | undefined): void {
  if (!row) return;
  for (const other of rows) {
    const chosen = other === row;
    other.tabIndex = chosen ? 0 : -1;
    other.setAttribute("aria-selected", String(chosen));
  }
  row.focus();
  row.scrollIntoView({ block: "nearest" });
}

export function enhanceRows(root: ParentNode = document): void {
  for (const table of root.querySelectorAll<HTMLTableElement>("table[data-kc-rows]:not(#kc-board)")) {
    const rows = [...table.querySelectorAll<HTMLTableRowElement>("tbody tr[data-href]")];
    if (rows.length === 0) continue;
    table.setAttribute("role", "grid");
    rows.forEach((row, place) => {
      row.tabIndex = place === 0 ? 0 : -1;
      row.setAttribute("aria-selected", "false");
      row.addEventListener("click", (event) => {
        if (!isControl(event.target) && row.dataset.href) location.assign(row.dataset.href);
      });
    });
    document.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      const within = table.contains(event.target as Node) || event.target === document.body;
      if (!within && isControl(event.target)) return;
      const at = rows.indexOf(document.activeElement as HTMLTableRowElement);
      const step = /^(j|ArrowDown)$/.test(event.key) ? 1 : /^(k|ArrowUp)$/.test(event.key) ? -1 : 0;
      if (step !== 0) {
        event.preventDefault();
        select(rows, at < 0 ? rows[0] : rows[Math.max(0, Math.min(rows.length - 1, at + step))]);
      } else if (event.key === "Home" || event.key === "End") {
        if (at < 0) return;
        event.preventDefault();
        select(rows, event.key === "Home" ? rows[0] : rows.at(-1));
      } else if (event.key === "Enter" && at >= 0 && event.target === rows[at]) {
        const address = rows[at]?.dataset.href;
        if (address) location.assign(address);
      }
    });
  }
}

/** "/" goes to the first field of the filter; choosing in a list applies the filter at once. */
export function enhanceFilters(): void {
  const form = document.querySelector<HTMLFormElement>("form.kc-filters");
  if (!form) return;
  for (const list of form.querySelectorAll("select"))
    list.addEventListener("change", () => form.requestSubmit());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || isControl(event.target) || document.querySelector("dialog[open]")) return;
    const field = form.querySelector<HTMLElement>("input:not([type=hidden]), select");
    if (!field) return;
    event.preventDefault();
    field.focus();
  });
}

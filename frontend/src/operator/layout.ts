/** The arrangement of the operator page; kept per person by the server, sizes in CSS pixels. */
export type LowerTab = "graph" | "tile" | "onnx" | "config";
export type DrawerTab = "summary" | "log" | "trials";

/** auto: logarithmic where one slow trial would flatten the others. */
export type ChartScale = "auto" | "linear" | "log";

export interface Layout {
  railOpen: boolean;
  rail: number;
  editor: number;
  /** Height of the lower panes (graph, tile, ONNX, Config). */
  lower: number;
  lowerOpen: boolean;
  lowerTab: LowerTab;
  /** The targets shown, in order, separated by spaces; empty for those that the server proposes. */
  targets: string;
  /** Which target the tile pane shows. */
  lowerTarget: string;
  /** Which source stands where there is room for one. */
  sourceTarget: string;
  drawerOpen: boolean;
  drawer: number;
  drawerTab: DrawerTab;
  scale: ChartScale;
}

const standard = (hasJobs: boolean): Layout => ({
  railOpen: window.innerWidth >= 1500,
  rail: 200,
  editor: window.innerWidth >= 1900 ? 520 : window.innerWidth < 1100 ? 320 : 360,
  lower: window.innerHeight < 900 ? 150 : 220,
  lowerOpen: true,
  lowerTab: "graph",
  targets: "",
  lowerTarget: "c",
  sourceTarget: "c",
  drawerOpen: hasJobs,
  drawer: window.innerHeight < 900 ? 240 : 320,
  drawerTab: "summary",
  scale: "auto",
});

/** What was stored, where it still has the type the page expects; else the standard. */
export function layoutFrom(stored: Record<string, unknown>, hasJobs: boolean): Layout {
  const start = standard(hasJobs);
  const kept = Object.entries(stored).filter(
    ([name, value]) => name in start && typeof value === typeof start[name as keyof Layout],
  );
  return { ...start, ...Object.fromEntries(kept) };
}

/** The targets that a layout lists, of which the server takes no more than twelve. */
export const MOST_TARGETS = 12;
export const targetsOf = (listed: string, proposed: readonly string[]): readonly string[] =>
  listed === "" ? proposed : listed.split(" ").slice(0, MOST_TARGETS);

/** `targets` with one moved before another. */
export function moved(targets: readonly string[], which: string, before: string): string[] {
  if (which === before || !targets.includes(which)) return [...targets];
  const rest = targets.filter((item) => item !== which);
  const from = targets.indexOf(which);
  const to = targets.indexOf(before);
  // Dropped on a pane to its right it takes that place: the pane moves up.
  rest.splice(rest.indexOf(before) + (from < to ? 1 : 0), 0, which);
  return rest;
}

/** What differs from the standard for this window: only that is kept, so that another screen gets its own sizes. */
export function chosenLayout(layout: Layout, hasJobs: boolean): Partial<Layout> {
  const start = standard(hasJobs);
  return Object.fromEntries(
    Object.entries(layout).filter(([name, value]) => value !== start[name as keyof Layout]),
  ) as Partial<Layout>;
}

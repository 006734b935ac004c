/** The few parts of Plotly that the charts use. */
interface PlotlyStatic {
  register(modules: readonly unknown[]): void;
  react(place: HTMLElement, traces: readonly object[], layout: object, config: object): Promise<unknown>;
  purge(place: HTMLElement): void;
  toImage(
    place: HTMLElement,
    options: { format: "png" | "svg"; width: number; height: number; scale?: number },
  ): Promise<string>;
  Plots: { resize(place: HTMLElement): void };
}

declare module "plotly.js/lib/core" {
  const Plotly: PlotlyStatic;
  export default Plotly;
}

declare module "plotly.js/src/traces/scattergl/strict" {
  const trace: unknown;
  export default trace;
}

declare module "plotly.js/lib/box" {
  const trace: unknown;
  export default trace;
}

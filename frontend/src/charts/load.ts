/** Beyond this many points SVG markers are too slow and WebGL is loaded. */
export const MANY = 2000;

/** Plotly would write a style element, which a strict content security policy refuses; its rules are in our CSS. */
function forbidInlineStyles(): void {
  const id = "plotly.js-style-global";
  if (document.getElementById(id)) return;
  const mark = document.createElement("meta");
  mark.id = id;
  mark.className = "no-inline-styles";
  document.head.append(mark);
}

export async function loadPlotly(points: number): Promise<PlotlyStatic> {
  forbidInlineStyles();
  const { default: plotly } = await import("./plotly-core");
  if (points > MANY) await import("./plotly-many");
  return plotly;
}

/** Chart colours from the page's theme, resolved to values that Plotly can draw and export. */
import { colour, targetColour } from "../ui/theme";

export interface ChartLook {
  paper: string;
  text: string;
  faint: string;
  grid: string;
  bad: string;
  target: string;
  font: string;
}

export const chartLook = (target: string): ChartLook => ({
  paper: colour("--paper"),
  text: colour("--text"),
  faint: colour("--text-faint"),
  grid: colour("--line"),
  bad: colour("--bad"),
  target: targetColour(target),
  font: getComputedStyle(document.body).fontFamily,
});

const axis = (look: ChartLook, title: string): Record<string, unknown> => ({
  title: { text: title, standoff: 4, font: { size: 12, color: look.faint } },
  gridcolor: look.grid,
  linecolor: look.grid,
  zeroline: false,
  tickfont: { size: 11, color: look.faint },
  fixedrange: false,
});

/** What every chart shares: fonts, colours, margins, no motion. */
export function frameLayout(look: ChartLook, x: string, y: string): Record<string, unknown> {
  return {
    autosize: true,
    paper_bgcolor: look.paper,
    plot_bgcolor: look.paper,
    font: { family: look.font, size: 12, color: look.text },
    margin: { l: 56, r: 12, t: 8, b: 36 },
    hoverlabel: {
      bgcolor: look.paper,
      bordercolor: look.grid,
      font: { family: look.font, size: 12, color: look.text },
    },
    legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom", font: { size: 11 } },
    showlegend: true,
    hovermode: "closest",
    dragmode: "zoom",
    xaxis: axis(look, x),
    yaxis: axis(look, y),
  };
}

export const CONFIG = {
  displayModeBar: false,
  displaylogo: false,
  responsive: false,
  doubleClick: "reset",
} as const;

/** Every entry's samples as points and a box, fastest first; the baseline as a dashed line. */
import { useMemo } from "preact/hooks";
import type { BoardDetail } from "../api/generated.gen";
import { t } from "../i18n";
import { duration } from "../ui/format";
import { themeChanges } from "../ui/theme";
import { type ChartLook, chartLook, frameLayout } from "./look";
import { type Figure, Plot } from "./plot";
import { axisUnit } from "./unit";

/** From this spread on, one slow sample would squeeze the rest into a line: the axis becomes logarithmic. */
const WIDE = 4;

/** Entries that tie have one rank and often one author: a number keeps their rows apart. */
function distinct(labels: string[]): string[] {
  const seen = new Map<string, number>();
  return labels.map((label) => {
    const count = (seen.get(label) ?? 0) + 1;
    seen.set(label, count);
    return count === 1 ? label : `${label} (${count})`;
  });
}

function boardFigure(board: BoardDetail, chosen: string | null, look: ChartLook): Figure {
  const entries = board.entries;
  const names = distinct(entries.map((entry) => `${entry.rank}. ${entry.author}`));
  const samples = entries.flatMap((entry) => entry.samples);
  const unit = axisUnit(entries.map((entry) => entry.median_ms));
  const traces = entries.map((entry, place) => ({
    type: "box",
    name: names[place],
    x: entry.samples.map((sample) => sample * unit.factor),
    boxpoints: "all",
    jitter: 0.5,
    pointpos: 0,
    whiskerwidth: 0.4,
    line: { color: look.target, width: entry.id === chosen ? 2 : 1 },
    fillcolor: "rgba(0,0,0,0)",
    marker: { color: look.target, size: 4, opacity: 0.7 },
    hoverinfo: "x",
  }));
  const layout = frameLayout(look, `${t("chart.samples")} (${unit.name})`, "");
  layout.showlegend = false;
  layout.margin = { l: 130, r: 16, t: 24, b: 40 };
  layout.yaxis = { ...(layout.yaxis as object), autorange: "reversed", title: undefined };
  const wide = Math.max(...samples) > WIDE * Math.min(...samples);
  layout.xaxis = {
    ...(layout.xaxis as object),
    type: wide ? "log" : "linear",
    nticks: 6,
    exponentformat: "none",
  };
  const baseline = entries.find((entry) => entry.baseline_ms !== null)?.baseline_ms ?? null;
  if (baseline !== null) {
    const at = baseline * unit.factor;
    layout.shapes = [
      {
        type: "line",
        x0: at,
        x1: at,
        yref: "paper",
        y0: 0,
        y1: 1,
        line: { color: look.faint, dash: "dash", width: 1 },
      },
    ];
    layout.annotations = [
      {
        x: wide ? Math.log10(at) : at,
        yref: "paper",
        y: 1,
        yanchor: "bottom",
        showarrow: false,
        text: t("board.baseline", { time: duration(baseline) }),
        font: { size: 11, color: look.faint },
      },
    ];
  }
  return { traces, layout };
}

function boardCsv(board: BoardDetail): string {
  const rows = board.entries.flatMap((entry) =>
    entry.samples.map((sample) => `${entry.rank},${entry.id},${sample}`),
  );
  return `${["rank,entry,sample_ms", ...rows].join("\n")}\n`;
}

export function BoardChart({ board, chosen }: { board: BoardDetail; chosen: string | null }) {
  const theme = themeChanges.value;
  const figure = useMemo(
    () => boardFigure(board, chosen, chartLook(board.board.target)),
    [board, chosen, theme],
  );
  if (board.entries.length === 0) return null;
  return (
    <section class="board-chart kc-chart">
      <h2>{t("board.distribution")}</h2>
      <Plot
        figure={figure}
        points={board.entries.reduce((sum, entry) => sum + entry.samples.length, 0)}
        label={t("board.distribution")}
        name={board.board.title}
        csv={() => boardCsv(board)}
      />
    </section>
  );
}

/** The picture of a tuning run: measured filled, predicted hollow, failed as crosses on the edge, best as a step. */
import type { Trial } from "../api/generated.gen";
import { configLine, durationWithInterval } from "../ui/format";
import { MANY } from "./load";
import { type ChartLook, frameLayout } from "./look";
import { axisUnit } from "./unit";

export interface FigureWords {
  trial: string;
  time: string;
  measured: string;
  predicted: string;
  failed: string;
  best: string;
}

/** Where failed trials stand: just under the upper edge, on an axis of their own. */
const EDGE = 0.97;

/** Best time so far at every measured trial. */
export function bestSoFar(trials: readonly Trial[]): { x: number[]; y: number[] } {
  const x: number[] = [];
  const y: number[] = [];
  let best = Number.POSITIVE_INFINITY;
  for (const trial of trials) {
    if (trial.status !== "measured" || trial.median_ms === null) continue;
    best = Math.min(best, trial.median_ms);
    x.push(trial.index + 1);
    y.push(best);
  }
  return { x, y };
}

const FLATTENS = 5;

/** Whether the slowest trial takes so much longer than most that a linear axis would press them flat. */
export function flattened(trials: readonly Trial[]): boolean {
  const times = trials.flatMap((trial) => trial.median_ms ?? []).sort((a, b) => a - b);
  const middle = times[Math.floor(times.length / 2)];
  return times.length > 2 && middle !== undefined && (times.at(-1) ?? 0) > FLATTENS * middle;
}

/** A Config broken into lines that a hover label can hold. */
function configLines(config: Record<string, unknown>): string {
  const words = configLine(config).split(" ");
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 56) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines.map(escapeMarkup).join("<br>");
}

const escapeMarkup = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function hover(trial: Trial): string {
  const head = `<b>${trial.index + 1}</b>  ${escapeMarkup(trial.strategy)}`;
  const time =
    trial.median_ms === null
      ? escapeMarkup(trial.error.split("\n", 1)[0]?.slice(0, 80) ?? "")
      : durationWithInterval(trial.median_ms, trial.low_ms, trial.high_ms);
  return `${head}<br>${time}<br>${configLines(trial.config)}`;
}

export function trialsFigure(
  trials: readonly Trial[],
  expected: number,
  logScale: boolean,
  look: ChartLook,
  words: FigureWords,
): { traces: object[]; layout: Record<string, unknown> } {
  const unit = axisUnit(trials.flatMap((trial) => trial.median_ms ?? []));
  const scaled = (milliseconds: number | null) => (milliseconds ?? 0) * unit.factor;
  const measured = trials.filter((trial) => trial.status === "measured" && trial.median_ms !== null);
  const predicted = trials.filter((trial) => trial.predicted_ms !== null);
  const failed = trials.filter((trial) => trial.status === "failed");
  const type = trials.length > MANY ? "scattergl" : "scatter";
  const best = bestSoFar(trials);
  const traces: object[] = [
    {
      type,
      name: words.measured,
      mode: "markers",
      x: measured.map((trial) => trial.index + 1),
      y: measured.map((trial) => scaled(trial.median_ms)),
      error_y: {
        type: "data",
        symmetric: false,
        array: measured.map((trial) =>
          scaled((trial.high_ms ?? trial.median_ms ?? 0) - (trial.median_ms ?? 0)),
        ),
        arrayminus: measured.map((trial) =>
          scaled((trial.median_ms ?? 0) - (trial.low_ms ?? trial.median_ms ?? 0)),
        ),
        color: look.target,
        thickness: 1,
        width: 2,
        visible: trials.length <= 200,
      },
      marker: { color: look.target, size: 7 },
      text: measured.map(hover),
      hovertemplate: "%{text}<extra></extra>",
    },
    {
      type: "scatter",
      name: words.best,
      mode: "lines",
      x: best.x,
      y: best.y.map(scaled),
      line: { shape: "hv", color: look.text, width: 1.5 },
      hoverinfo: "skip",
    },
  ];
  if (predicted.length > 0) {
    traces.push({
      type,
      name: words.predicted,
      mode: "markers",
      x: predicted.map((trial) => trial.index + 1),
      y: predicted.map((trial) => scaled(trial.predicted_ms)),
      marker: { color: look.target, size: 7, symbol: "circle-open" },
      text: predicted.map(hover),
      hovertemplate: "%{text}<extra></extra>",
    });
  }
  if (failed.length > 0) {
    traces.push({
      type: "scatter",
      name: words.failed,
      mode: "markers",
      x: failed.map((trial) => trial.index + 1),
      y: failed.map(() => EDGE),
      yaxis: "y2",
      marker: { color: look.bad, size: 8, symbol: "x-thin", line: { color: look.bad, width: 2 } },
      text: failed.map(hover),
      hovertemplate: "%{text}<extra></extra>",
    });
  }
  const layout = frameLayout(look, words.trial, `${words.time} (${unit.name})`);
  const most = Math.max(expected, trials.at(-1)?.index ?? 0) + 1;
  layout.xaxis = { ...(layout.xaxis as object), range: [0, most], rangemode: "tozero" };
  layout.yaxis = {
    ...(layout.yaxis as object),
    type: logScale ? "log" : "linear",
    rangemode: logScale ? "normal" : "tozero",
    exponentformat: "none",
    ...(logScale ? { dtick: "D2" } : {}),
  };
  layout.yaxis2 = { overlaying: "y", range: [0, 1], visible: false, fixedrange: true };
  layout.uirevision = `${logScale} ${unit.name}`;
  return { traces, layout };
}

const CSV_HEAD = "trial,status,median_ms,low_ms,high_ms,predicted_ms,strategy,config,error";

export function trialsCsv(trials: readonly Trial[]): string {
  const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`;
  const rows = trials.map((trial) =>
    [
      trial.index + 1,
      trial.status,
      trial.median_ms ?? "",
      trial.low_ms ?? "",
      trial.high_ms ?? "",
      trial.predicted_ms ?? "",
      quote(trial.strategy),
      quote(configLine(trial.config)),
      quote(trial.error),
    ].join(","),
  );
  return `${[CSV_HEAD, ...rows].join("\n")}\n`;
}

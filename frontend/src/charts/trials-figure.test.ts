import { expect, test } from "vitest";
import type { Trial } from "../api/generated.gen";
import { MANY } from "./load";
import type { ChartLook } from "./look";
import { bestSoFar, type FigureWords, flattened, trialsCsv, trialsFigure } from "./trials-figure";

const look: ChartLook = {
  paper: "#fff",
  text: "#000",
  faint: "#777",
  grid: "#ddd",
  bad: "red",
  target: "blue",
  font: "x",
};
const words: FigureWords = {
  trial: "trial",
  time: "time",
  measured: "measured",
  predicted: "predicted",
  failed: "failed",
  best: "best",
};

const trial = (index: number, more: Partial<Trial> = {}): Trial => ({
  index,
  config: { tile: 64 },
  status: "measured",
  median_ms: 1,
  low_ms: 0.9,
  high_ms: 1.2,
  samples: [],
  predicted_ms: null,
  error: "",
  strategy: "random",
  ...more,
});

const failed = (index: number) =>
  trial(index, { status: "failed", median_ms: null, low_ms: null, high_ms: null, error: 'too "big" <b>' });

type Trace = {
  name: string;
  type: string;
  x: number[];
  y: number[];
  yaxis?: string;
  text?: string[];
  marker?: { symbol?: string };
};
const figureOf = (trials: Trial[], log = false) => {
  const { traces, layout } = trialsFigure(trials, 24, log, look, words);
  return { traces: traces as Trace[], layout: layout as Record<string, Record<string, unknown>> };
};
const named = (traces: Trace[], name: string) => traces.find((trace) => trace.name === name);

test("the best so far never rises and ignores what was not measured", () => {
  const trials = [
    trial(0, { median_ms: 3 }),
    failed(1),
    trial(2, { median_ms: 4 }),
    trial(3, { median_ms: 2 }),
  ];
  expect(bestSoFar(trials)).toEqual({ x: [1, 3, 4], y: [3, 3, 2] });
});

test("failed trials are crosses on the edge; predictions are hollow; both only where there are some", () => {
  const plain = figureOf([trial(0)]).traces;
  expect(plain.map((trace) => trace.name)).toEqual(["measured", "best"]);
  const { traces } = figureOf([trial(0, { predicted_ms: 1.1 }), failed(1)]);
  expect(named(traces, "failed")).toMatchObject({ x: [2], yaxis: "y2" });
  expect(named(traces, "predicted")).toMatchObject({ x: [1], y: [1.1] });
  expect(named(traces, "predicted")?.marker?.symbol).toBe("circle-open");
});

test("the axis holds all trials that are to come, so that the chart grows without jumping", () => {
  expect(figureOf([trial(0)]).layout.xaxis?.range).toEqual([0, 25]);
  expect(figureOf([trial(99)]).layout.xaxis?.range).toEqual([0, 100]);
  expect(figureOf([trial(0)], true).layout.yaxis?.type).toBe("log");
});

test("thousands of points go to WebGL", () => {
  const many = Array.from({ length: MANY + 1 }, (_, index) => trial(index));
  expect(named(figureOf(many).traces, "measured")?.type).toBe("scattergl");
  expect(named(figureOf(many.slice(1)).traces, "measured")?.type).toBe("scatter");
});

test("hover shows the Config and never lets an error write markup", () => {
  const { traces } = figureOf([trial(0), failed(1)]);
  expect(named(traces, "measured")?.text?.[0]).toContain("tile=64");
  expect(named(traces, "failed")?.text?.[0]).toContain("&lt;b&gt;");
});

test("CSV has one row a trial and quotes what needs it", () => {
  const lines = trialsCsv([trial(0), failed(1)])
    .trimEnd()
    .split("\n");
  expect(lines).toHaveLength(3);
  expect(lines[1]).toBe('1,measured,1,0.9,1.2,,"random","tile=64",""');
  expect(lines[2]).toContain('"too ""big"" <b>"');
});

test("the time axis takes the unit that fits and scales everything on it alike", () => {
  const { traces, layout } = figureOf([trial(0, { median_ms: 0.005, predicted_ms: 0.004 })]);
  expect(layout.yaxis?.title).toMatchObject({ text: "time (µs)" });
  expect(named(traces, "measured")?.y[0]).toBeCloseTo(5);
  expect(named(traces, "best")?.y[0]).toBeCloseTo(5);
  expect(named(traces, "predicted")?.y[0]).toBeCloseTo(4);
  expect(figureOf([trial(0)]).layout.yaxis?.title).toMatchObject({ text: "time (ms)" });
});

test("one slow trial makes the axis logarithmic, ordinary spread does not", () => {
  const times = (...values: number[]) => values.map((median_ms, index) => trial(index, { median_ms }));
  expect(flattened(times(1, 1.2, 0.9, 44))).toBe(true);
  expect(flattened(times(1, 1.2, 0.9, 2))).toBe(false);
  expect(flattened([...times(1, 1), failed(2)])).toBe(false);
});

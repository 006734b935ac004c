/** Numbers as engineers read them: three or four figures, a unit, an interval. */

const SPACE = "\u202f"; // narrow, does not break between number and unit

function figures(value: number, count = 3): string {
  if (value === 0) return "0";
  const digits = Math.max(0, count - 1 - Math.floor(Math.log10(Math.abs(value))));
  return value.toFixed(Math.min(digits, 6));
}

const SCALES: readonly [number, string, number][] = [
  [1000, "s", 1e-3],
  [1, "ms", 1],
  [1e-3, "µs", 1e3],
  [0, "ns", 1e6],
];

/** Milliseconds with a fitting unit: 0.0137 gives `13.7 µs`. */
export function duration(milliseconds: number): string {
  const [, unit, factor] = SCALES.find(([from]) => Math.abs(milliseconds) >= from) ?? [1, "ms", 1];
  return `${figures(milliseconds * factor)}${SPACE}${unit}`;
}

/** A median with half its bootstrap interval in the same unit: `1.37 ms ±0.02`. */
export function durationWithInterval(median: number, low: number | null, high: number | null): string {
  if (low === null || high === null) return duration(median);
  const [, , factor] = SCALES.find(([from]) => Math.abs(median) >= from) ?? [1, "ms", 1];
  const half = ((high - low) / 2) * factor;
  const decimals = (figures(median * factor).split(".")[1] ?? "").length;
  return `${duration(median)} ±${half.toFixed(decimals)}`;
}

/** `3.1x` */
export const ratio = (value: number): string => `${figures(value, 2)}x`;

/** 0.1234 gives `12.3 %`. */
export const percent = (share: number): string => `${(share * 100).toFixed(1)}${SPACE}%`;

/** Seconds as a person says them: `40 s`, `3 min`. */
export function longTime(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))}${SPACE}s`;
  return `${Math.round(seconds / 60)}${SPACE}min`;
}

/** A small or large real number: `2.4e-7`, `0.013`. */
export function real(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  return size < 1e-3 || size >= 1e5 ? value.toExponential(1) : figures(value);
}

export const withUnit = (value: number, unit: string): string => `${figures(value)}${SPACE}${unit}`;

/** A Config as one line: `tile_m=64 unroll=4`. */
export function configLine(config: Record<string, unknown>): string {
  return Object.entries(config)
    .map(([knob, value]) => `${knob}=${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(" ");
}

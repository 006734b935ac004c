/** The unit of a time axis: microseconds where even the longest is short, seconds where the shortest is long. */
export function axisUnit(milliseconds: readonly number[]): { name: string; factor: number } {
  if (milliseconds.length > 0 && Math.max(...milliseconds) < 0.5) return { name: "µs", factor: 1000 };
  if (milliseconds.length > 0 && Math.min(...milliseconds) > 2000) return { name: "s", factor: 0.001 };
  return { name: "ms", factor: 1 };
}

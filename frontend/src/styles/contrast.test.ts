import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const css = readFileSync(new URL("./tokens.css", import.meta.url), "utf8");
const pairs = new Map(
  [...css.matchAll(/--([\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)/g)].map(([, name, light, dark]) => [
    name as string,
    { light: light as string, dark: dark as string },
  ]),
);

function luminance(hex: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const share = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrast(a: string, b: string): number {
  const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

const TEXT = [...pairs.keys()].filter((name) => /^(text|code|accent$|good$|bad$|warn$)/.test(name));
const SURFACES = ["paper", "surface", "raised", "sunken", "hover"];

test("text keeps 4.5:1 on every surface, marks of targets 3:1 on paper, in both themes", () => {
  expect(TEXT.length).toBeGreaterThan(12);
  const poor: string[] = [];
  for (const theme of ["light", "dark"] as const) {
    const value = (name: string) => pairs.get(name)?.[theme] ?? "";
    for (const text of TEXT)
      for (const surface of SURFACES) {
        const ratio = contrast(value(text), value(surface));
        if (ratio < 4.5) poor.push(`${theme}: ${text} on ${surface} ${ratio.toFixed(2)}`);
      }
    for (const target of ["target-c", "target-cuda", "target-ascend"]) {
      const ratio = contrast(value(target), value("paper"));
      if (ratio < 3) poor.push(`${theme}: ${target} ${ratio.toFixed(2)}`);
    }
  }
  expect(poor).toEqual([]);
});

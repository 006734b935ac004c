import { expect, test } from "vitest";
import { configLine, duration, durationWithInterval, longTime, percent, ratio, real } from "./format";

const plain = (text: string) => text.replaceAll("\u202f", " ");

test("times carry three figures and a fitting unit", () => {
  expect([0.000012, 0.0137, 1.371, 137.1, 12345].map(duration).map(plain)).toEqual([
    "12.0 ns",
    "13.7 µs",
    "1.37 ms",
    "137 ms",
    "12.3 s",
  ]);
});

test("intervals use the unit and the decimals of the median", () => {
  expect(plain(durationWithInterval(1.371, 1.35, 1.39))).toBe("1.37 ms ±0.02");
  expect(plain(durationWithInterval(0.0137, 0.0135, 0.0139))).toBe("13.7 µs ±0.2");
  expect(plain(durationWithInterval(2, null, null))).toBe("2.00 ms");
});

test("ratios, shares, waits, errors and Configs", () => {
  expect(ratio(3.14)).toBe("3.1x");
  expect(plain(percent(0.9731))).toBe("97.3 %");
  expect([3.2, 89, 200].map(longTime).map(plain)).toEqual(["3 s", "89 s", "3 min"]);
  expect([0, 2.4e-7, 0.0134, 123456].map(real)).toEqual(["0", "2.4e-7", "0.0134", "1.2e+5"]);
  expect(configLine({ tile: 64, order: [0, 1] })).toBe("tile=64 order=[0,1]");
});

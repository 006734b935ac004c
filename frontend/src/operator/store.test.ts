import { beforeAll, expect, test, vi } from "vitest";

// The store's module reads the window through its imports; only its pure parts are tested here.
let pure: typeof import("./store");
beforeAll(async () => {
  vi.stubGlobal("window", {
    innerWidth: 1440,
    innerHeight: 900,
    matchMedia: () => ({ matches: false, addEventListener() {} }),
  });
  pure = await import("./store");
});

test.each([
  ["24", 24],
  [" 3 ", 3],
  ["1000", 1000],
  ["0", null],
  ["1001", null],
  ["", null],
  ["1e9", null],
  ["-1", null],
  ["2.5", null],
])("trials %j are %s", (text, count) => {
  expect(pure.trialsOf(text)).toBe(count);
});

test("values are the same whatever the order of their keys", () => {
  expect(pure.same({ c: { a: 1, b: 2 } }, { c: { b: 2, a: 1 } })).toBe(true);
  expect(pure.same({ c: { a: 1 } }, { c: { a: 2 } })).toBe(false);
  expect(pure.same({ c: {} }, {})).toBe(false);
});

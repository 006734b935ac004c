import { expect, test } from "vitest";
import { MOST_TARGETS, moved, targetsOf } from "./layout";

test("an empty list stands for the proposed targets", () => {
  expect(targetsOf("", ["c", "cuda:sm_80"])).toEqual(["c", "cuda:sm_80"]);
  expect(targetsOf("wgsl:webgpu c", ["c"])).toEqual(["wgsl:webgpu", "c"]);
  expect(targetsOf(Array(20).fill("c").join(" "), [])).toHaveLength(MOST_TARGETS);
});

test.each([
  ["a", "c", "b c a d"],
  ["d", "b", "a d b c"],
  ["b", "b", "a b c d"],
  ["b", "a", "b a c d"],
  ["c", "d", "a b d c"],
  ["x", "a", "a b c d"],
])("%s dropped on %s gives %s", (which, before, wanted) => {
  expect(moved(["a", "b", "c", "d"], which, before).join(" ")).toBe(wanted);
});

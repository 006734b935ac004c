import { expect, test } from "vitest";
import { readShape } from "./shape-text";

test.each([
  ["4096x1024:f32", "4096x1024:f32"],
  ["1024x1024", "1024x1024:f16"],
  ["512*512", "512x512:f16"],
  ["1024×1024", "1024x1024:f16"],
  ["(1024,1024)", "1024x1024:f16"],
  ["(1024,)", "1024:f16"],
  ["[8, 16] : i8", "8x16:i8"],
  ["8 16", "8x16:f16"],
  ["007", "7:f16"],
  ["scalar:f32", "scalar:f32"],
  ["()", "scalar:f16"],
  ["bf16", "scalar:bf16"],
])("%s is %s", (text, shape) => {
  expect(readShape(text, "f16")).toEqual({ shape });
});

test.each([
  ["", "shapes.invalid"],
  ["1024x", "shapes.missing"],
  ["x4", "shapes.missing"],
  ["abc", "shapes.not_a_size"],
  ["-1x4", "shapes.not_a_size"],
  ["1.5", "shapes.not_a_size"],
  ["4:f31", "shapes.dtype"],
  ["4:f32:f32", "shapes.invalid"],
  ["99999999999999", "shapes.too_large"],
])("%s is refused: %s", (text, problem) => {
  expect(readShape(text, "f32")).toMatchObject({ problem });
});

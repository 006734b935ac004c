import { expect, test } from "vitest";
import { fitness, matches, rank } from "./commands";

const pressed = (key: string, more: object = {}) => ({
  key,
  code: `Key${key.toUpperCase()}`,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test("Mod is Ctrl, and Command on a Mac; other modifiers must not be down", () => {
  expect(matches("Mod+K", pressed("k", { ctrlKey: true }), false)).toBe(true);
  expect(matches("Mod+K", pressed("k", { metaKey: true }), true)).toBe(true);
  expect(matches("Mod+K", pressed("k", { metaKey: true }), false)).toBe(false);
  expect(matches("Mod+K", pressed("k", { ctrlKey: true, altKey: true }), false)).toBe(false);
  expect(matches("Mod+Enter", { ...pressed("Enter"), ctrlKey: true, shiftKey: true }, false)).toBe(false);
  expect(matches("Alt+B", pressed("∫", { code: "KeyB", altKey: true }), true)).toBe(true);
  expect(matches("?", pressed("?", { shiftKey: true }), false)).toBe(true);
});

test("letters in order fit, whole words fit best", () => {
  expect(fitness("xyz", "Softmax")).toBeNull();
  const titles = ["Matrix multiplication", "Open Softmax", "Soft plus maximum"];
  const commands = titles.map((title) => ({ id: title, title, run: () => {} }));
  expect(rank("softmax", commands).map((command) => command.title)).toEqual([
    "Open Softmax",
    "Soft plus maximum",
  ]);
  expect(rank("", commands)).toHaveLength(3);
});

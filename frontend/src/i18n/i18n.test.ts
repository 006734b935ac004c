import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { en } from "./en";
import { plural, t, useLanguage } from "./index";
import { zh } from "./zh";

const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map((found) => found[0]).sort();

test("both languages have the same keys and placeholders, and nothing is left untranslated", () => {
  expect(Object.keys(zh).sort()).toEqual(Object.keys(en).sort());
  const sameInBoth = new Set(["chart.csv", "chart.png", "chart.svg", "pane.onnx"]);
  for (const [key, text] of Object.entries(en)) {
    const other = zh[key as keyof typeof en];
    expect(placeholders(other), key).toEqual(placeholders(text));
    if (!sameInBoth.has(key)) expect(other, key).not.toBe(text);
  }
});

test("every key is used somewhere", () => {
  const root = new URL("../", import.meta.url).pathname;
  const code = readdirSync(root, { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path) && !/i18n\/(en|zh)\.ts$|\.test\.ts/.test(path))
    .map((path) => readFileSync(root + path, "utf8"))
    .join("\n");
  const built =
    /^(fact\.\w+(\.means)?|job\.(state\.)?(build|check|profile|tune|queued|running|succeeded|failed|cancelled)|hosts\.online\.\w+|action\.(build|check|profile|tune)|theme\.\w+|pane\.(graph|tile|onnx|config)|drawer\.(summary|log|trials)|status\.(wrong|stale|fresh|blank))$/;
  const unused = Object.keys(en).filter((key) => !built.test(key) && !code.includes(`"${key}"`));
  expect(unused).toEqual([]);
});

test("values replace placeholders and plurals follow the language", () => {
  useLanguage("en");
  expect(t("operator.saved", { number: 3 })).toBe("saved as version 3");
  expect(plural("hosts.online", 1)).toBe("1 host online");
  expect(plural("hosts.online", 4)).toBe("4 hosts online");
  useLanguage("zh-hans");
  expect(plural("hosts.online", 1)).toBe("1 台主机在线");
  useLanguage("en");
});

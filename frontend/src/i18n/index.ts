import type { LanguageCode } from "../context";
import { en, type MessageKey } from "./en";
import { zh } from "./zh";

export type { MessageKey };

const catalogs: Record<LanguageCode, Record<MessageKey, string>> = { en, "zh-hans": zh };
let catalog: Record<MessageKey, string> = en;
let locale = "en";

/** Chooses the catalog; the server decides the language and a page load keeps it. */
export function useLanguage(language: LanguageCode): void {
  catalog = catalogs[language] ?? en;
  locale = language === "zh-hans" ? "zh-CN" : "en";
}

/** The text of `key` with `{name}` replaced from `values`. */
export function t(key: MessageKey, values: Record<string, string | number> = {}): string {
  return catalog[key].replace(/\{(\w+)\}/g, (whole, name: string) => String(values[name] ?? whole));
}

/** `key.one` or `key.other` by the language's own plural rule. */
export function plural(key: "hosts.online", count: number): string {
  const one = new Intl.PluralRules(locale).select(count) === "one";
  return t(`${key}.${one ? "one" : "other"}`, { count });
}

/** A moment as the reader's clock shows it; the day is left out when it is today. */
export function moment(iso: string, now: Date = new Date()): string {
  const at = new Date(iso);
  const sameDay = at.toDateString() === now.toDateString();
  return new Intl.DateTimeFormat(locale, {
    ...(sameDay ? {} : { month: "short", day: "numeric" }),
    hour: "2-digit",
    minute: "2-digit",
    second: sameDay ? "2-digit" : undefined,
    hourCycle: "h23",
  }).format(at);
}

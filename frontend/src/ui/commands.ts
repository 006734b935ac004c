/** Everything the command palette can do, and the keys that do it without the palette. */
import { signal } from "@preact/signals";
import type { IconName } from "./icons";

export interface Command {
  id: string;
  title: string;
  group?: string;
  icon?: IconName;
  /** Shown and listened to: "Mod+Enter", "Alt+B", "?". Mod is Ctrl, or Command on a Mac. */
  keys?: string;
  run: () => void;
  enabled?: () => boolean;
}

type Source = () => readonly Command[];

const sources = signal<readonly Source[]>([]);

/** Later providers come first: what a page can do stands above what every page can do. */
export function provideCommands(source: Source): void {
  sources.value = [source, ...sources.value];
}

export const allCommands = (): Command[] => sources.value.flatMap((source) => source());

export const isMac = (): boolean => /Mac|iPhone|iPad/.test(navigator.platform);

/** "Mod+Enter" as this machine's keyboard writes it. */
export function keyLabel(keys: string): string {
  return isMac()
    ? keys.replace("Mod", "⌘").replace("Alt", "⌥").replace("Shift", "⇧")
    : keys.replace("Mod", "Ctrl");
}

type Pressed = Pick<KeyboardEvent, "key" | "code" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">;

/** Whether the event is this combination. Letters go by key position, since Alt changes `key` on a Mac. */
export function matches(keys: string, event: Pressed, mac: boolean): boolean {
  const parts = keys.split("+");
  const last = parts.at(-1) ?? "";
  const wantMod = parts.includes("Mod");
  const mod = mac ? event.metaKey : event.ctrlKey;
  const otherMod = mac ? event.ctrlKey : event.metaKey;
  if (mod !== wantMod || otherMod || event.altKey !== parts.includes("Alt")) return false;
  if (/^[A-Z]$/.test(last)) return event.code === `Key${last}` && event.shiftKey === parts.includes("Shift");
  if (last === "?") return event.key === "?";
  return event.key === last && event.shiftKey === parts.includes("Shift");
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName));

/** Listens on the whole page. Keys without a modifier do nothing while someone types. */
export function listenForKeys(): void {
  document.addEventListener(
    "keydown",
    (event) => {
      for (const command of allCommands()) {
        if (!command.keys || !matches(command.keys, event, isMac())) continue;
        if (!/Mod|Alt|F\d/.test(command.keys) && isTyping(event.target)) continue;
        event.preventDefault();
        event.stopPropagation();
        if (command.enabled?.() ?? true) command.run();
        return;
      }
    },
    { capture: true },
  );
}

/** How well `query` fits `title`: letters in order, word starts count more; null when it does not fit. */
export function fitness(query: string, title: string): number | null {
  const wanted = query.toLowerCase().replaceAll(" ", "");
  const text = title.toLowerCase();
  if (wanted === "") return 0;
  const whole = text.indexOf(query.toLowerCase().trim());
  if (whole >= 0) return 100 - whole - text.length / 100;
  let score = 0;
  let from = 0;
  for (const letter of wanted) {
    const at = text.indexOf(letter, from);
    if (at < 0) return null;
    score += at === 0 || /[\s/.:-]/.test(text[at - 1] ?? " ") ? 3 : at === from ? 2 : 0;
    from = at + 1;
  }
  return score - text.length / 100;
}

export function rank(query: string, commands: readonly Command[]): Command[] {
  return commands
    .map((command) => ({ command, score: fitness(query, `${command.title} ${command.group ?? ""}`) }))
    .filter((item): item is { command: Command; score: number } => item.score !== null)
    .sort((a, b) => b.score - a.score)
    .map((item) => item.command);
}

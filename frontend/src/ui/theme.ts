import { signal } from "@preact/signals";
import { api } from "../api/client";
import type { LanguageCode, Theme } from "../context";

export const theme = signal<Theme>("system");

/** Grows whenever colours on the page may have changed: charts redraw when they read it. */
export const themeChanges = signal(0);

export function startTheme(chosen: Theme): void {
  theme.value = chosen;
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    themeChanges.value += 1;
  });
}

export function chooseTheme(chosen: Theme, signedIn: boolean): void {
  theme.value = chosen;
  document.documentElement.dataset.theme = chosen;
  themeChanges.value += 1;
  if (signedIn) void api.patchPreferences({ theme: chosen });
}

export async function chooseLanguage(language: LanguageCode): Promise<void> {
  await api.patchPreferences({ language });
  location.reload();
}

/** The colour that a CSS variable has now, in a form every drawing library reads. */
export function colour(variable: string): string {
  const probe = document.createElement("span");
  probe.style.color = `var(${variable})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** One colour per target family; the same table as tokens.css has under [data-target]. */
export function targetColour(target: string): string {
  const probe = document.createElement("span");
  probe.dataset.target = target;
  probe.style.color = "var(--target, var(--target-other))";
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

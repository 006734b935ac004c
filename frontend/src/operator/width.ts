/** Whether the window is too narrow for sources side by side. */
import { signal } from "@preact/signals";

const query = window.matchMedia("(max-width: 1080px)");

export const narrow = signal(query.matches);
query.addEventListener("change", (event) => {
  narrow.value = event.matches;
});

/** A bar between two panes: drag it, or focus it and press the arrow keys. */

interface SplitterProps {
  /** "column" moves left and right, "row" moves up and down. */
  along: "column" | "row";
  label: string;
  size: number;
  smallest: number;
  largest: () => number;
  /** -1 when the sized pane lies after the bar (right or bottom). */
  sign?: 1 | -1;
  onResize: (size: number) => void;
}

const STEP = 16;

export function Splitter({ along, label, size, smallest, largest, sign = 1, onResize }: SplitterProps) {
  const clamp = (wanted: number) => Math.round(Math.max(smallest, Math.min(largest(), wanted)));

  const drag = (down: PointerEvent) => {
    if (down.button !== 0) return;
    down.preventDefault();
    const bar = down.currentTarget as HTMLElement;
    bar.setPointerCapture(down.pointerId);
    const from = along === "column" ? down.clientX : down.clientY;
    const move = (event: PointerEvent) => {
      const at = along === "column" ? event.clientX : event.clientY;
      onResize(clamp(size + sign * (at - from)));
    };
    const stop = () => {
      bar.removeEventListener("pointermove", move);
      bar.removeEventListener("pointerup", stop);
      bar.removeEventListener("pointercancel", stop);
    };
    bar.addEventListener("pointermove", move);
    bar.addEventListener("pointerup", stop);
    bar.addEventListener("pointercancel", stop);
  };

  const press = (event: KeyboardEvent) => {
    const [less, more] = along === "column" ? ["ArrowLeft", "ArrowRight"] : ["ArrowUp", "ArrowDown"];
    const direction = event.key === less ? -1 : event.key === more ? 1 : 0;
    if (direction === 0) return;
    event.preventDefault();
    onResize(clamp(size + sign * direction * STEP * (event.shiftKey ? 4 : 1)));
  };

  return (
    // biome-ignore lint/a11y/useSemanticElements: a focusable separator with a value is what ARIA calls a window splitter
    <div
      class={`kc-splitter is-${along}`}
      role="separator"
      tabIndex={0}
      aria-label={label}
      aria-orientation={along === "column" ? "vertical" : "horizontal"}
      aria-valuenow={size}
      aria-valuemin={smallest}
      onPointerDown={drag}
      onKeyDown={press}
    />
  );
}

/** A job's log; keeps to the end while the reader is at the end. */
import { useEffect, useRef } from "preact/hooks";
import type { LogLine } from "../api/generated.gen";
import { t } from "../i18n";

const NEAR_END = 24;

export function Log({ lines }: { lines: readonly LogLine[] }) {
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  useEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (lines.length === 0) return <p class="job-note kc-faint">{t("job.log_empty")}</p>;
  return (
    <div
      class="job-log"
      role="log"
      ref={box}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
      tabIndex={0}
      aria-label={t("drawer.log")}
      onScroll={(event) => {
        const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
        atEnd.current = scrollHeight - scrollTop - clientHeight < NEAR_END;
      }}
    >
      {lines.map((line) => (
        <div key={line.number} class={`is-${line.stream}`}>
          <span class="is-number">{line.number}</span>
          <span>{line.text}</span>
        </div>
      ))}
    </div>
  );
}

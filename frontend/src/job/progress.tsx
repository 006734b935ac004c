/** How far a job is, in words and a bar; why it waits; what it needs. */
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { JobSummary, QueuePlace } from "../api/generated.gen";
import { isOver } from "../api/names";
import { t } from "../i18n";
import { duration, longTime } from "../ui/format";

export function StateWord({ job }: { job: JobSummary }) {
  const cancelling = job.cancel_requested && !isOver(job.state);
  return (
    <span class="kc-state" data-state={job.state}>
      {cancelling ? t("job.cancelling") : t(`job.state.${job.state}`)}
    </span>
  );
}

/** One line: the queue's reason, the running step, or the outcome in a few words. */
export function progressWords(job: JobSummary): string {
  if (job.state === "running") {
    const left = job.progress.seconds_left;
    const parts = [job.progress.text];
    if (left !== null && left >= 10) parts.push(t("job.left", { time: longTime(left) }));
    return parts.filter(Boolean).join(", ");
  }
  if (job.state === "failed") return job.error ? `${job.error.code} ${job.error.message}` : "";
  if (job.best_ms !== null) return t("job.best", { time: duration(job.best_ms) });
  return job.state === "queued" ? t("job.waiting") : "";
}

export function ProgressBar({ job }: { job: JobSummary }) {
  if (isOver(job.state)) return null;
  const percent = Math.round(job.progress.fraction * 100);
  return <progress class="kc-progress" max={100} value={percent} aria-label={t("job.progress")} />;
}

const QUEUE_POLL = 3000;

/** Where a waiting job stands, asked of the server while it waits. */
export function QueueReason({ job }: { job: JobSummary }) {
  const [place, setPlace] = useState<QueuePlace | null>(null);
  useEffect(() => {
    if (job.state !== "queued") return undefined;
    let live = true;
    const ask = async () => {
      const found = await api.queuePlace(job.id).catch(() => null);
      if (live) setPlace(found);
    };
    void ask();
    const timer = setInterval(() => void ask(), QUEUE_POLL);
    return () => {
      live = false;
      clearInterval(timer);
    };
  }, [job.id, job.state]);
  if (job.state !== "queued" || !place || place.reason === "none") return null;
  return <p class="kc-warn">{place.message || t("job.ahead", { count: place.ahead })}</p>;
}

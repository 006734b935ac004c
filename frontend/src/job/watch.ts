import type { ReadonlySignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { JobSnapshot } from "../api/generated.gen";
import type { Live } from "../state/live";
import type { TopicState } from "../state/topics";

type JobTopic = ReadonlySignal<TopicState<JobSnapshot>>;

/** The live snapshot of one job; null until it came, and again when another job is chosen. */
export function useJob(live: Live, id: string | null): JobSnapshot | null {
  const [held, setHeld] = useState<{ id: string; topic: JobTopic } | null>(null);
  useEffect(() => {
    if (id === null) {
      setHeld(null);
      return undefined;
    }
    setHeld({ id, topic: live.watch(`job:${id}`) });
    return () => live.leave(`job:${id}`);
  }, [live, id]);
  return held && held.id === id ? held.topic.value.snapshot : null;
}

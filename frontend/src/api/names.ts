/** Names for the closed sets inside the generated types. */
import type { JobSummary, TargetPreview } from "./generated.gen";

export type JobKind = JobSummary["kind"];
export type JobState = JobSummary["state"];
export type Fact = TargetPreview["facts"][number];

export const FACTS = ["rendered", "compiled", "emulated", "executed", "measured"] as const;
export type FactName = (typeof FACTS)[number];

export const isOver = (state: JobState): boolean =>
  state === "succeeded" || state === "failed" || state === "cancelled";

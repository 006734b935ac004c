import { expect, test } from "vitest";
import type { Event, JobSnapshot, JobSummary, LogLine, ServerMessage, Trial } from "../api/generated.gen";
import { emptyTopic, reduceJob, reduceTopic, type TopicState, upsertJob } from "./topics";

const job = (revision: number, more: Partial<JobSummary> = {}): JobSummary => ({
  id: "j1",
  revision,
  kind: "tune",
  target: "c",
  state: "running",
  cancel_requested: false,
  attempts: 1,
  title: "Softmax",
  operator_id: null,
  version_number: null,
  host: "here",
  progress: { fraction: 0, text: "", seconds_left: null },
  trials_count: 0,
  best_ms: null,
  error: null,
  board_id: null,
  created_at: "2026-01-01T00:00:00Z",
  started_at: null,
  finished_at: null,
  ...more,
});

const trial = (index: number, median: number): Trial => ({
  index,
  config: { tile: index },
  status: "measured",
  median_ms: median,
  low_ms: median,
  high_ms: median,
  samples: [],
  predicted_ms: null,
  error: "",
  strategy: "random",
});

const line = (number: number): LogLine => ({
  number,
  stream: "out",
  text: `line ${number}`,
  at: "2026-01-01T00:00:00Z",
});

const start = (): JobSnapshot => ({
  job: job(1),
  source: "",
  shapes: {},
  config: {},
  options: {},
  outcome: null,
  trials: [],
  log: [],
  artifacts: [],
  evidence: [],
});

const topic = "job:j1";
const snapshotMessage = (revision: number, snapshot: JobSnapshot): ServerMessage => ({
  kind: "snapshot",
  topic,
  revision,
  snapshot,
});
const eventMessage = (revision: number, event: Event): ServerMessage => ({
  kind: "event",
  topic,
  revision,
  event,
});

const history: Event[] = [
  { type: "job_changed", job: job(2), outcome: null },
  { type: "trials_recorded", job: job(3, { trials_count: 2 }), trials: [trial(0, 2), trial(1, 1.5)] },
  { type: "log_appended", job: job(3, { trials_count: 2 }), lines: [line(1), line(2)] },
  { type: "trials_recorded", job: job(4, { trials_count: 3 }), trials: [trial(2, 1.2)] },
  { type: "trials_recorded", job: job(5, { trials_count: 3 }), trials: [trial(1, 1.4)] },
  {
    type: "artifact_added",
    job: job(5, { trials_count: 3 }),
    artifact: { id: "a", kind: "source", name: "k.c", digest: "d", size: 3 },
  },
  { type: "job_changed", job: job(6, { state: "succeeded" }), outcome: { baseline_ms: 2 } },
];

test("a snapshot taken at any moment and the events after it give what a refetch gives", () => {
  const whole = history.reduce(reduceJob, start());
  for (let cut = 0; cut <= history.length; cut += 1) {
    const taken = history.slice(0, cut).reduce(reduceJob, start());
    let state: TopicState = reduceTopic(topic, emptyTopic, snapshotMessage(cut, taken));
    history.forEach((event, place) => {
      state = reduceTopic(topic, state, eventMessage(place + 1, event));
    });
    expect(state).toEqual({ revision: history.length, snapshot: whole, gap: false });
  }
  expect(whole.trials.map((item) => item.median_ms)).toEqual([2, 1.4, 1.2]);
  expect(whole.outcome).toEqual({ baseline_ms: 2 });
});

test("an event applied twice changes nothing", () => {
  for (const event of history) {
    const once = reduceJob(history.reduce(reduceJob, start()), event);
    expect(reduceJob(once, event)).toEqual(once);
  }
});

test("a missing revision is a gap that keeps the old picture until a snapshot comes", () => {
  const before = reduceTopic(topic, emptyTopic, snapshotMessage(4, start()));
  const gap = reduceTopic(topic, before, eventMessage(6, history[0] as Event));
  expect(gap.gap).toBe(true);
  expect(gap.snapshot).toBe(before.snapshot);
  expect(reduceTopic(topic, gap, eventMessage(7, history[1] as Event)).revision).toBe(4);
  const healed = reduceTopic(topic, gap, snapshotMessage(9, start()));
  expect(healed).toEqual({ revision: 9, snapshot: start(), gap: false });
});

test("the answer to since says when events were lost", () => {
  const before = reduceTopic(topic, emptyTopic, snapshotMessage(4, start()));
  expect(reduceTopic(topic, before, { kind: "current", topic, revision: 4 })).toBe(before);
  expect(reduceTopic(topic, before, { kind: "current", topic, revision: 6 }).gap).toBe(true);
});

test("jobs of a workspace: newest first, older revisions ignored", () => {
  const older = job(3, { id: "old", created_at: "2025-01-01T00:00:00Z" });
  const jobs = upsertJob([older], job(1));
  expect(jobs.map((item) => item.id)).toEqual(["j1", "old"]);
  expect(upsertJob(jobs, job(2, { id: "old", state: "failed" }))[1]?.state).toBe("running");
  expect(upsertJob(jobs, job(4, { id: "old", state: "failed" }))[1]?.state).toBe("failed");
});

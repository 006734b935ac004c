/** What came of a job, as a table of named numbers with units; empty until there is something to say. */
import type { ComponentChildren } from "preact";
import type { JobSnapshot, Trial } from "../api/generated.gen";
import { type MessageKey, t } from "../i18n";
import { Facts } from "../ui/facts";
import { configLine, duration, durationWithInterval, percent, ratio, real, withUnit } from "../ui/format";

type Row = [MessageKey, ComponentChildren];
type Outcome = Record<string, unknown>;

const number = (outcome: Outcome, name: string): number | null => {
  const value = outcome[name];
  return typeof value === "number" && Number.isFinite(value) ? value : null;
};
const text = (outcome: Outcome, name: string): string => {
  const value = outcome[name];
  return typeof value === "string" ? value : "";
};

/** A core answer for several targets holds one entry here, since a job has one target. */
function flat(outcome: Outcome): Outcome {
  const targets = outcome.targets;
  return Array.isArray(targets) && targets.length === 1
    ? { ...outcome, ...(targets[0] as Outcome) }
    : outcome;
}

function checkRows(outcome: Outcome): Row[] {
  const ok = outcome.ok === true;
  const error = number(outcome, "max_error");
  const tolerance = number(outcome, "tolerance");
  return [
    [
      "outcome.verdict",
      <span class={ok ? "kc-good" : "kc-bad"}>{t(ok ? "outcome.matches" : "outcome.differs")}</span>,
    ],
    ["outcome.error", error === null ? null : real(error)],
    ["outcome.tolerance", tolerance === null ? null : real(tolerance)],
    ["outcome.message", text(outcome, "message") || null],
  ];
}

function buildRows(outcome: Outcome): Row[] {
  const seconds = number(outcome, "seconds");
  const resources = outcome.resources;
  return [
    ["outcome.seconds", seconds === null ? null : duration(seconds * 1000)],
    [
      "outcome.resources",
      resources && typeof resources === "object" ? <code>{configLine(resources as Outcome)}</code> : null,
    ],
  ];
}

function profileRows(outcome: Outcome): Row[] {
  const median = number(outcome, "median_ms");
  const limit = number(outcome, "limit_ms");
  const share = number(outcome, "limit_ratio");
  const gbps = number(outcome, "gbps");
  const gflops = number(outcome, "gflops");
  return [
    [
      "outcome.median",
      median === null
        ? null
        : durationWithInterval(median, number(outcome, "low_ms"), number(outcome, "high_ms")),
    ],
    ["outcome.bandwidth", gbps === null ? null : withUnit(gbps, "GB/s")],
    ["outcome.compute", gflops === null ? null : withUnit(gflops, "GFLOP/s")],
    ["outcome.limit", limit === null ? null : duration(limit)],
    ["outcome.limit_ratio", share === null ? null : percent(share)],
    ["outcome.device", text(outcome, "device") || null],
  ];
}

/** The fastest measured trial so far. */
export function bestTrial(trials: readonly Trial[]): Trial | null {
  let best: Trial | null = null;
  for (const trial of trials) {
    if (trial.status !== "measured" || trial.median_ms === null) continue;
    if (best === null || trial.median_ms < (best.median_ms ?? Number.POSITIVE_INFINITY)) best = trial;
  }
  return best;
}

function tuneRows(snapshot: JobSnapshot, outcome: Outcome): Row[] {
  const best = bestTrial(snapshot.trials);
  const baseline = number(outcome, "baseline_ms");
  const median = best?.median_ms ?? null;
  return [
    [
      "outcome.best",
      median === null ? null : durationWithInterval(median, best?.low_ms ?? null, best?.high_ms ?? null),
    ],
    ["outcome.baseline", baseline === null ? null : duration(baseline)],
    ["outcome.gain", baseline === null || !median ? null : ratio(baseline / median)],
    ["job.config", best ? <code>{configLine(best.config)}</code> : null],
    ["outcome.device", text(outcome, "device") || null],
    ["outcome.workload", text(outcome, "workload") ? <code>{text(outcome, "workload")}</code> : null],
  ];
}

function rowsOf(snapshot: JobSnapshot): Row[] {
  const outcome = flat(snapshot.outcome ?? {});
  switch (snapshot.job.kind) {
    case "tune":
      return tuneRows(snapshot, outcome);
    case "check":
      return snapshot.outcome ? checkRows(outcome) : [];
    case "build":
      return snapshot.outcome ? buildRows(outcome) : [];
    case "profile":
      return snapshot.outcome ? profileRows(outcome) : [];
  }
}

export function OutcomeTable({ snapshot }: { snapshot: JobSnapshot }) {
  const rows = rowsOf(snapshot).filter(([, value]) => value !== null);
  return (
    <dl class="job-outcome">
      {rows.map(([key, value]) => (
        <div key={key}>
          <dt>{t(key)}</dt>
          <dd>{value}</dd>
        </div>
      ))}
      {snapshot.evidence.length > 0 && (
        <div>
          <dt>{t("outcome.evidence")}</dt>
          <dd>
            <Facts facts={snapshot.evidence} />
          </dd>
        </div>
      )}
    </dl>
  );
}

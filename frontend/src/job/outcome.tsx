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

const VERDICTS: Record<string, MessageKey> = {
  ok: "outcome.matches",
  differs: "outcome.differs",
  refused: "outcome.refused",
  failed: "outcome.failed",
  "too slow to emulate here": "outcome.too_slow",
};

function checkRows(outcome: Outcome): Row[] {
  const ok = outcome.ok === true;
  const verdict = VERDICTS[text(outcome, "verdict")] ?? (ok ? "outcome.matches" : "outcome.differs");
  const error = number(outcome, "max_error");
  const tolerance = number(outcome, "tolerance");
  return [
    [
      "outcome.verdict",
      <span
        class={ok ? "kc-good" : verdict === "outcome.differs" || verdict === "outcome.failed" ? "kc-bad" : ""}
      >
        {t(verdict)}
      </span>,
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
    ["outcome.note", warnings(outcome)],
    ["outcome.workload", text(outcome, "workload") ? <code>{text(outcome, "workload")}</code> : null],
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

/** The best trial: as the final comparison timed it once there is one, else the fastest so far. */
function best(snapshot: JobSnapshot): Pick<Trial, "config" | "median_ms" | "low_ms" | "high_ms"> | null {
  const final = (snapshot.outcome?.best ?? null) as Trial | null;
  return final ?? bestTrial(snapshot.trials);
}

export const bestConfig = (snapshot: JobSnapshot): Record<string, unknown> | null =>
  best(snapshot)?.config ?? null;

/** What the final interleaved run of best and default shows. */
function gain(outcome: Outcome): ComponentChildren {
  const compared = outcome.comparison as Outcome | null | undefined;
  const shown = compared ? number(compared, "ratio") : null;
  const first = ((outcome.best ?? {}) as Partial<Trial>).index === 0;
  if (!compared || shown === null || first)
    return number(outcome, "baseline_ms") === null ? null : t("outcome.default_best");
  const [low, high] = [number(compared, "ratio_low") ?? shown, number(compared, "ratio_high") ?? shown];
  const values = { ratio: ratio(shown), low: ratio(low), high: ratio(high) };
  if (compared.gain_shown === true) return <span class="kc-good">{t("outcome.gain_shown", values)}</span>;
  return t("outcome.no_gain", values);
}

const warnings = (outcome: Outcome): string | null =>
  Array.isArray(outcome.warnings) && outcome.warnings.length > 0 ? t("outcome.short_run") : null;

function tuneRows(snapshot: JobSnapshot, outcome: Outcome): Row[] {
  const chosen = best(snapshot);
  const compared = (outcome.comparison ?? {}) as Outcome;
  const baseline = number(outcome, "baseline_ms");
  const median = chosen?.median_ms ?? null;
  return [
    [
      "outcome.best",
      median === null ? null : durationWithInterval(median, chosen?.low_ms ?? null, chosen?.high_ms ?? null),
    ],
    [
      "outcome.baseline",
      baseline === null
        ? null
        : durationWithInterval(
            baseline,
            number(compared, "baseline_low_ms"),
            number(compared, "baseline_high_ms"),
          ),
    ],
    ["outcome.gain", gain(outcome)],
    ["outcome.note", warnings(outcome)],
    ["job.config", chosen ? <code>{configLine(chosen.config)}</code> : null],
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

/**
 * One reducer for every live topic. Law, tested: a snapshot with the following events applied equals the snapshot
 * that a refetch would give. Events state the new truth, so applying one twice changes nothing.
 */
import type {
  BoardDetail,
  Event,
  HostDetail,
  HostList,
  JobSnapshot,
  JobSummary,
  LogLine,
  OperatorSummary,
  ServerMessage,
  Trial,
  WorkspaceSnapshot,
} from "../api/generated.gen";

/** What a topic's name says about its snapshot. */
export interface Snapshots {
  job: JobSnapshot;
  workspace: WorkspaceSnapshot;
  hosts: HostList;
  board: BoardDetail;
}

export type TopicKind = keyof Snapshots;
export type AnySnapshot = Snapshots[TopicKind];

/** `gap` asks the socket to subscribe again without `since`; until the snapshot comes the old one is shown. */
export interface TopicState<Snapshot = AnySnapshot> {
  revision: number;
  snapshot: Snapshot | null;
  gap: boolean;
}

export const emptyTopic: TopicState<never> = { revision: 0, snapshot: null, gap: false };

export const topicKind = (topic: string): TopicKind => topic.split(":", 1)[0] as TopicKind;

export function reduceTopic(topic: string, state: TopicState, message: ServerMessage): TopicState {
  switch (message.kind) {
    case "snapshot":
      return { revision: message.revision, snapshot: message.snapshot as AnySnapshot, gap: false };
    case "event":
      if (state.snapshot === null || state.gap) return { ...state, gap: true };
      if (message.revision <= state.revision) return state;
      if (message.revision !== state.revision + 1) return { ...state, gap: true };
      return {
        revision: message.revision,
        snapshot: reduceSnapshot(topicKind(topic), state.snapshot, message.event),
        gap: false,
      };
    case "current":
      return message.revision === state.revision
        ? state
        : { ...state, gap: state.revision < message.revision };
    case "refused":
      return state;
  }
}

function reduceSnapshot(kind: TopicKind, snapshot: AnySnapshot, event: Event): AnySnapshot {
  switch (kind) {
    case "job":
      return reduceJob(snapshot as JobSnapshot, event);
    case "workspace":
      return reduceWorkspace(snapshot as WorkspaceSnapshot, event);
    case "hosts":
      return event.type === "host_changed"
        ? { items: upsertHost((snapshot as HostList).items, event.host) }
        : snapshot;
    case "board":
      return event.type === "board_ranked" ? event.board : snapshot;
  }
}

export function reduceJob(state: JobSnapshot, event: Event): JobSnapshot {
  switch (event.type) {
    case "job_changed":
      return { ...state, job: event.job, outcome: event.outcome ?? state.outcome };
    case "trials_recorded":
      return { ...state, job: event.job, trials: mergeBy(state.trials, event.trials, trialIndex) };
    case "log_appended":
      return { ...state, job: event.job, log: mergeBy(state.log, event.lines, lineNumber) };
    case "artifact_added":
      return {
        ...state,
        job: event.job,
        artifacts: upsertLast(state.artifacts, event.artifact, (item) => item.id),
      };
    case "evidence_added":
      return {
        ...state,
        job: event.job,
        evidence: event.rows.reduce((rows, row) => upsertLast(rows, row, (item) => item.id), state.evidence),
      };
    default:
      return state;
  }
}

function reduceWorkspace(state: WorkspaceSnapshot, event: Event): WorkspaceSnapshot {
  switch (event.type) {
    case "job_changed":
    case "trials_recorded":
      return { ...state, jobs: upsertJob(state.jobs, event.job) };
    case "operator_changed":
      return { ...state, operators: upsertOperator(state.operators, event.operator, event.deleted) };
    default:
      return state;
  }
}

/** Newest first; a summary older than the one held is ignored. */
export function upsertJob(jobs: readonly JobSummary[], job: JobSummary): JobSummary[] {
  const held = jobs.find((item) => item.id === job.id);
  if (held)
    return held.revision >= job.revision ? [...jobs] : jobs.map((item) => (item.id === job.id ? job : item));
  return [job, ...jobs].sort((a, b) => b.created_at.localeCompare(a.created_at));
}

function upsertOperator(
  list: readonly OperatorSummary[],
  operator: OperatorSummary,
  deleted: boolean,
): OperatorSummary[] {
  const rest = list.filter((item) => item.id !== operator.id);
  if (deleted) return rest;
  return rest.length === list.length
    ? [operator, ...list]
    : list.map((item) => (item.id === operator.id ? operator : item));
}

function upsertHost(hosts: readonly HostDetail[], host: HostDetail): HostDetail[] {
  const known = hosts.some((item) => item.name === host.name);
  return known ? hosts.map((item) => (item.name === host.name ? host : item)) : [...hosts, host];
}

const trialIndex = (trial: Trial): number => trial.index;
const lineNumber = (line: LogLine): number => line.number;

/** Items keyed by a growing number: appending is the common case and costs no sort. */
function mergeBy<Item>(held: readonly Item[], added: readonly Item[], key: (item: Item) => number): Item[] {
  const last = held.at(-1);
  const grows = added.every((item, place) => {
    const before = place === 0 ? last : added[place - 1];
    return before === undefined || key(item) > key(before);
  });
  if (grows) return [...held, ...added];
  const byKey = new Map(held.map((item) => [key(item), item]));
  for (const item of added) byKey.set(key(item), item);
  return [...byKey.values()].sort((a, b) => key(a) - key(b));
}

function upsertLast<Item, Key>(list: readonly Item[], item: Item, key: (item: Item) => Key): Item[] {
  const known = list.some((held) => key(held) === key(item));
  return known ? list.map((held) => (key(held) === key(item) ? item : held)) : [...list, item];
}

/** What the operator page holds: the text, its versions, the preview, the arrangement, and what can be done. */
import { batch, computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { ApiError, api } from "../api/client";
import type {
  CatalogOperator,
  CatalogTarget,
  GalleryItem,
  JobSummary,
  OperatorDetail,
} from "../api/generated.gen";
import type { JobKind } from "../api/names";
import type { OperatorPage } from "../context";
import { t } from "../i18n";
import type { Live } from "../state/live";
import type { Session } from "../ui/frame";
import { tell, warn, warnAbout } from "../ui/notices";
import { type Draft, draftKey, readDraft, storeDraft } from "./draft";
import { chosenLayout, layoutFrom, targetsOf } from "./layout";
import { isBlank, Preview } from "./preview";
import { targetShort } from "./words";

export type LiveSession = Session & { live: Live };
export type Configs = Record<string, Record<string, unknown>>;

export const TRIALS_AT_FIRST = 24;
/** Dragging a splitter is one change, stored when it rests. */
const LAYOUT_PAUSE = 800;

export function openStore(context: OperatorPage, session: LiveSession) {
  const opened = context.version ?? context.operator?.latest ?? null;
  const operator = signal<OperatorDetail | null>(context.operator);
  const base = signal<number | null>(context.operator?.latest_number ?? null);
  const key = () => draftKey(operator.peek()?.id, context.gallery_item?.slug);
  const draft = readDraft(key(), base.value);
  const name = signal(context.operator?.name ?? context.gallery_item?.title ?? "");
  const savedSource = signal(opened?.source ?? context.gallery_item?.formula ?? "");
  const savedShapes = signal(opened?.shapes ?? context.gallery_item?.shapes ?? {});
  const savedConfigs = signal<Configs>(opened?.configs ?? {});
  const source = signal(draft?.source ?? savedSource.value);
  const shapes = signal<Record<string, string>>(draft?.shapes ?? savedShapes.value);
  const configs = signal<Configs>(draft?.configs ?? savedConfigs.value);
  const layout = signal(layoutFrom(context.layout, context.jobs.length > 0));
  const listed = computed(() => layout.value.targets);
  const targets = computed(() => targetsOf(listed.value, context.targets));
  /** Shown, but not to be run. */
  const unticked = signal<readonly string[]>([]);
  const ticked = computed(() => targets.value.filter((target) => !unticked.value.includes(target)));
  /** As typed; `trials` is its number, null while it is none. */
  const trialsText = signal(String(TRIALS_AT_FIRST));
  const trials = computed(() => trialsOf(trialsText.value));
  const blank = computed(() => isBlank(source.value));
  const starting = signal<JobKind | null>(null);
  const saving = signal(false);
  const copied = signal("");

  const catalogTargets = signal<readonly CatalogTarget[]>([]);
  const catalogOperators = signal<readonly CatalogOperator[]>([]);
  const gallery = signal<readonly GalleryItem[]>([]);
  void Promise.all([
    api.operatorCatalog().then((found) => {
      catalogOperators.value = found;
    }),
    api.targets().then((found) => {
      catalogTargets.value = found;
    }),
    api.gallery().then((found) => {
      gallery.value = found;
    }),
  ]).catch(warnAbout);

  const renamed = computed(() => {
    const wanted = name.value.trim();
    return operator.value !== null && wanted !== "" && wanted !== operator.value.name;
  });
  const changed = computed(
    () =>
      source.value !== savedSource.value ||
      !same(shapes.value, savedShapes.value) ||
      !same(chosen(configs.value), chosen(savedConfigs.value)) ||
      operator.value === null,
  );
  const dirty = computed(() => changed.value || renamed.value);

  const preview = new Preview(api.preview);
  const asked = () => ({
    source: source.value,
    shapes: shapes.value,
    targets: [...targets.value],
    configs: configs.value,
  });
  let first = true;
  effect(() => {
    const question = asked();
    if (isBlank(question.source)) preview.clear();
    else preview.later(question, first ? 0 : undefined);
    first = false;
    const { source, shapes, configs } = question;
    storeDraft(key(), changed.value ? { source, shapes, configs, base: base.peek() } : null);
  });

  // Jobs as the answers to this page's own requests gave them: shown at once, before any event comes.
  const answered = signal<readonly JobSummary[]>(context.jobs);
  const keepAnswers = (made: readonly JobSummary[]) => {
    answered.value = [...answered.value, ...made];
  };

  /** This operator's jobs, newest first: what requests answered and what the workspace topic says since. */
  const jobs: ReadonlySignal<JobSummary[]> = computed(() => {
    const id = operator.value?.id;
    const known = new Map<string, JobSummary>();
    for (const job of [...answered.value, ...(session.workspace?.value.snapshot?.jobs ?? [])]) {
      const held = known.get(job.id);
      if (!held || held.revision <= job.revision) known.set(job.id, job);
    }
    return [...known.values()]
      .filter((job) => id !== undefined && job.operator_id === id)
      .sort((a, b) => b.created_at.localeCompare(a.created_at));
  });

  const chosenJob = signal<string | null>(null);
  const job: ReadonlySignal<JobSummary | null> = computed(() => {
    const list = jobs.value;
    return list.find((item) => item.id === chosenJob.value) ?? list[0] ?? null;
  });

  // A finished job may have brought evidence: ask again, quietly, for the same text.
  let finished: string | null = null;
  effect(() => {
    const now = jobs.value
      .filter((item) => item.finished_at !== null)
      .map((item) => item.id)
      .join();
    if (finished !== null && finished !== now && !preview.pending.peek()) void preview.now(untracked());
    finished = now;
  });
  function untracked() {
    return {
      source: source.peek(),
      shapes: shapes.peek(),
      targets: [...targets.peek()],
      configs: configs.peek(),
    };
  }

  let storing: ReturnType<typeof setTimeout> | undefined;
  let stored = layout.value;
  const storeLayout = () => {
    clearTimeout(storing);
    if (layout.peek() === stored) return;
    stored = layout.peek();
    const chosen = chosenLayout(stored, context.jobs.length > 0);
    void api.patchPreferences({ layout: chosen }).catch(warnAbout);
  };
  effect(() => {
    if (layout.value === stored) return;
    clearTimeout(storing);
    storing = setTimeout(storeLayout, LAYOUT_PAUSE);
  });
  window.addEventListener("pagehide", storeLayout);

  /** Saves the text as a new version (or a new operator); true when it is saved. */
  async function save(message = ""): Promise<boolean> {
    if (renamed.value && !(await rename(name.value))) return false;
    if (!changed.value) return true;
    saving.value = true;
    const written = { source: source.value, shapes: shapes.value, configs: chosen(configs.value), message };
    try {
      const held = operator.value;
      const answer = held
        ? await api.saveVersion(held.id, { ...written, base_number: base.value })
        : await createOperator(name.value.trim(), written);
      batch(() => {
        operator.value = answer;
        name.value = answer.name;
        base.value = answer.latest_number;
        savedSource.value = written.source;
        savedShapes.value = written.shapes;
        savedConfigs.value = written.configs;
      });
      storeDraft(draftKey(undefined, context.gallery_item?.slug), null);
      if (!location.pathname.endsWith(`/operators/${answer.id}`))
        history.replaceState(null, "", `/operators/${answer.id}`);
      return true;
    } catch (problem) {
      if (problem instanceof ApiError && problem.status === 409 && operator.value) {
        // The text is kept; saving again puts it on top of the version that came in between.
        const { latest_number } = await api.operator(operator.value.id);
        base.value = latest_number;
        warn(t("operator.conflict", { number: latest_number }));
      } else warnAbout(problem);
      return false;
    } finally {
      saving.value = false;
    }
  }

  /** Gives the saved operator the typed name; an empty one goes back to what it was. True when they agree. */
  async function rename(wanted: string): Promise<boolean> {
    const held = operator.value;
    name.value = wanted;
    if (!held) return true;
    if (wanted.trim() === "") name.value = held.name;
    if (wanted.trim() === "" || wanted.trim() === held.name) return true;
    try {
      operator.value = await api.renameOperator(held.id, wanted.trim());
      return true;
    } catch (problem) {
      name.value = held.name;
      warnAbout(problem);
      return false;
    }
  }

  const measurable = (target: string): boolean =>
    catalogTargets.value.find((item) => item.target === target)?.facts_possible.includes("measured") ??
    target === "c";

  /** The ticked targets that this kind of job can run on: only measurable ones for Profile and Tune. */
  const targetsFor = (kind: JobKind): string[] =>
    ticked.value.filter((target) => kind === "build" || kind === "check" || measurable(target));

  /** Show these targets, in this order. */
  function show(wanted: readonly string[]): void {
    const proposed = wanted.join(" ") === context.targets.join(" ");
    layout.value = { ...layout.value, targets: proposed ? "" : wanted.join(" ") };
  }

  function tick(target: string, on: boolean): void {
    const others = unticked.value.filter((item) => item !== target);
    unticked.value = on ? others : [...others, target];
  }

  /** Why a button cannot be pressed now; null when it can. */
  function obstacle(kind: JobKind): string | null {
    if (blank.value) return t("run.write_first");
    if (preview.error.value) return t("run.fix_first");
    if (ticked.value.length === 0) return t("run.no_target");
    if (targetsFor(kind).length === 0) return t("run.cannot_measure");
    if (kind === "tune" && trials.value === null) return t("run.trials_range", { most: MOST_TRIALS });
    return null;
  }

  async function run(kind: JobKind): Promise<void> {
    if (starting.value || obstacle(kind)) return;
    starting.value = kind;
    try {
      if (!(await save(kind))) return;
      const { jobs: made } = await api.createJobs({
        kind,
        targets: targetsFor(kind),
        source: source.value,
        shapes: shapes.value,
        configs: configs.value,
        options: kind === "tune" && trials.value !== null ? { trials: trials.value } : {},
        operator_id: operator.value?.id,
        version_number: operator.value?.latest_number,
      });
      keepAnswers(made);
      chosenJob.value = made[0]?.id ?? null;
      layout.value = {
        ...layout.value,
        drawerOpen: true,
        drawerTab: kind === "tune" ? "trials" : "summary",
      };
    } catch (problem) {
      warnAbout(problem);
    } finally {
      starting.value = null;
    }
  }

  async function cancel(id: string): Promise<void> {
    await api.cancelJob(id).then((job) => keepAnswers([job]), warnAbout);
  }

  async function retry(id: string): Promise<void> {
    try {
      const made = await api.retryJob(id);
      keepAnswers([made]);
      chosenJob.value = made.id;
    } catch (problem) {
      warnAbout(problem);
    }
  }

  /** Sets or clears (`value` undefined) one knob of one target. */
  function setKnob(target: string, knob: string, value: unknown): void {
    const { [knob]: _dropped, ...rest } = configs.value[target] ?? {};
    configs.value = { ...configs.value, [target]: value === undefined ? rest : { ...rest, [knob]: value } };
  }

  /** Takes a tuned Config over and says that saving keeps it. */
  function useConfig(target: string, config: Record<string, unknown>): void {
    configs.value = { ...configs.value, [target]: config };
    tell(t(changed.value ? "config.taken" : "config.taken_already", { target: targetShort(target) }));
  }

  return {
    context, session, operator, base, name, source, shapes, configs, ticked, targets, trials, trialsText, starting, saving, copied,
    catalogTargets, catalogOperators, gallery, blank, dirty, preview, jobs, job, chosenJob, layout,
    save, show, tick, rename, measurable, targetsFor, obstacle, run, cancel, retry, setKnob, useConfig,
  }; // biome-ignore format: a list of names
}

export type Store = ReturnType<typeof openStore>;

const NAMES_TRIED = 20;

/** A taken name gets a number: the first run of a gallery formula must not stop at a question. Without one the server
 * calls the operator after its formula. */
async function createOperator(name: string, written: Omit<Draft, "base"> & { message: string }) {
  for (let number = 1; ; number += 1) {
    try {
      return await api.createOperator({
        ...written,
        name: number === 1 || !name ? name : `${name} ${number}`,
      });
    } catch (problem) {
      const taken = problem instanceof ApiError && problem.status === 409;
      if (!taken || number === NAMES_TRIED) throw problem;
    }
  }
}

export const MOST_TRIALS = 1000;

/** The number of trials that a text says; null when it says none that can be run. */
export function trialsOf(text: string): number | null {
  const count = /^\s*\d+\s*$/.test(text) ? Number(text) : 0;
  return count >= 1 && count <= MOST_TRIALS ? count : null;
}

/** Without the targets for which nothing is set. */
function chosen(configs: Configs): Configs {
  return Object.fromEntries(Object.entries(configs).filter(([, knobs]) => Object.keys(knobs).length > 0));
}

/** Whether two plain values hold the same under the same keys, in whatever order. */
export function same(a: unknown, b: unknown): boolean {
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return a === b;
  const [one, two] = [a as Record<string, unknown>, b as Record<string, unknown>];
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(two).length && keys.every((key) => key in two && same(one[key], two[key]))
  );
}

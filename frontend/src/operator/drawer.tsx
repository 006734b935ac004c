/** Jobs of this operator on the left, the chosen one on the right. */
import type { JobSummary } from "../api/generated.gen";
import { isOver } from "../api/names";
import { moment, t } from "../i18n";
import { JobDetail } from "../job/detail";
import { progressWords, StateWord } from "../job/progress";
import { useJob } from "../job/watch";
import { duration } from "../ui/format";
import { IconButton } from "../ui/icons";
import type { Layout } from "./layout";
import type { Store } from "./store";
import { targetShort } from "./words";

export function Drawer({ store, arrange }: { store: Store; arrange: (change: Partial<Layout>) => void }) {
  const layout = store.layout.value;
  const jobs = store.jobs.value;
  const job = store.job.value;
  const snapshot = useJob(store.session.live, layout.drawerOpen ? (job?.id ?? null) : null);
  const running = jobs.filter((item) => !isOver(item.state)).length;
  return (
    <section
      class={`op-drawer${layout.drawerOpen ? "" : " is-closed"}`}
      aria-label={t("drawer.jobs")}
      data-pane="drawer"
    >
      <div class="op-jobs">
        <div class="kc-tabs">
          <h2>{t("drawer.jobs")}</h2>
          <span class="kc-faint">{running > 0 ? `${running} / ${jobs.length}` : jobs.length || ""}</span>
          <span class="is-space" />
          <IconButton
            icon="drawer"
            label={layout.drawerOpen ? t("drawer.hide") : t("drawer.show")}
            pressed={layout.drawerOpen}
            onClick={() => arrange({ drawerOpen: !layout.drawerOpen })}
          />
        </div>
        {layout.drawerOpen && (
          <ul role="listbox" aria-label={t("drawer.jobs")}>
            {jobs.map((item) => (
              <JobRow key={item.id} store={store} job={item} chosen={item.id === job?.id} />
            ))}
            {jobs.length === 0 && <li class="job-note kc-faint">{t("job.none")}</li>}
          </ul>
        )}
      </div>
      {layout.drawerOpen &&
        (snapshot ? (
          <JobDetail
            snapshot={snapshot}
            tab={layout.drawerTab}
            onTab={(drawerTab) => arrange({ drawerTab })}
            scale={layout.scale}
            onScale={(scale) => arrange({ scale })}
            onCancel={() => void store.cancel(snapshot.job.id)}
            onRetry={() => void store.retry(snapshot.job.id)}
            onUseConfig={(config) => store.useConfig(snapshot.job.target, config)}
            linkToPage
          />
        ) : (
          <div class="job">{job === null && <p class="job-note kc-faint">{t("job.select")}</p>}</div>
        ))}
    </section>
  );
}

function JobRow({ store, job, chosen }: { store: Store; job: JobSummary; chosen: boolean }) {
  const choose = () => {
    store.chosenJob.value = job.id;
  };
  return (
    <li
      role="option"
      aria-selected={chosen}
      tabIndex={0}
      data-job={job.id}
      onClick={choose}
      onKeyDown={(event) => {
        const { nextElementSibling: next, previousElementSibling: before } = event.currentTarget;
        if (event.key === "Enter" || event.key === " ") choose();
        else if (event.key === "ArrowDown" && next instanceof HTMLElement) next.focus();
        else if (event.key === "ArrowUp" && before instanceof HTMLElement) before.focus();
        else return;
        event.preventDefault();
      }}
    >
      <span class="kc-target-name" data-target={job.target}>
        {`${t(`job.${job.kind}`)} ${targetShort(job.target)}`}
      </span>
      <StateWord job={job} />
      <span class="kc-faint is-words" title={progressWords(job)}>
        {job.best_ms !== null ? duration(job.best_ms) : job.state !== "succeeded" ? progressWords(job) : ""}
      </span>
      <time class="kc-faint" dateTime={job.created_at}>
        {moment(job.created_at)}
      </time>
    </li>
  );
}

/** Everything about one job: summary, log, trials. The drawer of the operator page and the job page both show it. */
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { ArtifactRef, JobSnapshot } from "../api/generated.gen";
import { isOver } from "../api/names";
import { TrialsChart } from "../charts/trials-chart";
import { CodeView } from "../editor/code-view";
import { t } from "../i18n";
import type { ChartScale, DrawerTab } from "../operator/layout";
import { Icon, IconButton } from "../ui/icons";
import { warnAbout } from "../ui/notices";
import { CopyButton, download } from "../ui/take";
import { Log } from "./log";
import { bestConfig, OutcomeTable } from "./outcome";
import { ProgressBar, progressWords, QueueReason, StateWord } from "./progress";

interface JobDetailProps {
  snapshot: JobSnapshot;
  tab: DrawerTab;
  onTab: (tab: DrawerTab) => void;
  scale: ChartScale;
  onScale: (scale: ChartScale) => void;
  onCancel: () => void;
  onRetry: () => void;
  /** Offered where there is an editor to take the Config. */
  onUseConfig?: (config: Record<string, unknown>) => void;
  linkToPage?: boolean;
}

const TABS: readonly DrawerTab[] = ["summary", "log", "trials"];

export function JobDetail(props: JobDetailProps) {
  const { snapshot, onTab } = props;
  const { job } = snapshot;
  const tabs = job.kind === "tune" ? TABS : TABS.filter((name) => name !== "trials");
  const tab = tabs.includes(props.tab) ? props.tab : "summary";
  return (
    <div class="job" data-job={job.id} data-kind={job.kind}>
      <div class="kc-tabs">
        <div role="tablist" class="is-tabs">
          {tabs.map((name) => (
            <button
              key={name}
              type="button"
              role="tab"
              aria-selected={name === tab}
              onClick={() => onTab(name)}
            >
              {t(`drawer.${name}`)}
              {name === "trials" && <span class="kc-faint"> {snapshot.trials.length}</span>}
            </button>
          ))}
        </div>
        <span class="kc-target-name" data-target={job.target}>
          {`${t(`job.${job.kind}`)} ${job.target}`}
        </span>
        <StateWord job={job} />
        <span class="kc-soft is-words">{progressWords(job)}</span>
        <span class="is-space" />
        {!isOver(job.state) && (
          <button
            type="button"
            class="kc-button is-small is-danger"
            data-run="cancel"
            disabled={job.cancel_requested}
            onClick={props.onCancel}
          >
            <Icon name="cross" small />
            {t("action.cancel")}
          </button>
        )}
        {isOver(job.state) && (
          <button type="button" class="kc-button is-small" onClick={props.onRetry}>
            {t("action.retry")}
          </button>
        )}
        {job.board_id && (
          <a class="kc-button is-small" href={`/boards/${job.board_id}`}>
            {t("action.open_board")}
          </a>
        )}
        {props.linkToPage && (
          <a class="kc-button is-small is-quiet" href={`/jobs/${job.id}`}>
            {t("action.open_job")}
          </a>
        )}
      </div>
      <div class="job-progress">
        <ProgressBar job={job} />
      </div>
      <div class="job-body" role="tabpanel" aria-label={t(`drawer.${tab}`)}>
        {tab === "summary" && <Summary {...props} />}
        {tab === "log" && <Log lines={snapshot.log} />}
        {tab === "trials" && (
          <TrialsChart
            trials={snapshot.trials}
            target={job.target}
            expected={snapshot.options.trials ?? snapshot.trials.length}
            name={`${job.title || "trials"} ${job.target}`}
            scale={props.scale}
            onScale={props.onScale}
          />
        )}
      </div>
    </div>
  );
}

function Summary({ snapshot, onUseConfig }: JobDetailProps) {
  const { job } = snapshot;
  const best = bestConfig(snapshot);
  const [opened, setOpened] = useState<ArtifactRef | null>(null);
  return (
    <div class="job-summary">
      <div>
        <QueueReason job={job} />
        {job.error && (
          <div class="kc-error">
            <p>
              <span class="kc-mono">{job.error.code}</span> {job.error.message}
            </p>
            {job.error.hint && <p class="kc-soft">{t("trouble.hint", { hint: job.error.hint })}</p>}
            {job.error.text && <pre>{job.error.text}</pre>}
          </div>
        )}
        <OutcomeTable snapshot={snapshot} />
        {onUseConfig && best && (
          <button type="button" class="kc-button is-small" onClick={() => onUseConfig(best)}>
            <Icon name="check" small />
            {t("action.use_config")}
          </button>
        )}
        {snapshot.artifacts.length > 0 && (
          <ul class="job-artifacts" aria-label={t("job.artifacts")}>
            {snapshot.artifacts.map((artifact) => (
              <li key={artifact.id}>
                <button
                  type="button"
                  class="kc-button is-small"
                  aria-pressed={opened?.id === artifact.id}
                  onClick={() => setOpened(opened?.id === artifact.id ? null : artifact)}
                >
                  <Icon name="text" small />
                  {artifact.name}
                </button>
              </li>
            ))}
          </ul>
        )}
      </div>
      {opened ? <Artifact job={job.id} artifact={opened} /> : null}
    </div>
  );
}

function Artifact({ job, artifact }: { job: string; artifact: ArtifactRef }) {
  const [content, setContent] = useState("");
  useEffect(() => {
    setContent("");
    api.artifact(job, artifact.id).then(setContent, warnAbout);
  }, [job, artifact.id]);
  return (
    <div class="job-artifact">
      <div class="kc-tabs">
        <span class="kc-mono">{artifact.name}</span>
        <span class="is-space" />
        <CopyButton text={() => content} what={artifact.name} disabled={!content} />
        <IconButton
          icon="download"
          label={t("action.download")}
          disabled={!content}
          onClick={() => download(artifact.name, content)}
        />
      </div>
      <CodeView
        text={content}
        language={artifact.kind === "source" ? "c" : "listing"}
        label={artifact.name}
        foldHelpers={artifact.kind === "source"}
      />
    </div>
  );
}

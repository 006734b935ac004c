import { signal } from "@preact/signals";
import { render } from "preact";
import { api } from "../api/client";
import type { JobPage } from "../context";
import { CodeView } from "../editor/code-view";
import { useStyleNonce } from "../editor/nonce";
import { t } from "../i18n";
import { JobDetail } from "../job/detail";
import type { ChartScale, DrawerTab } from "../operator/layout";
import type { Live } from "../state/live";
import { warnAbout } from "../ui/notices";

export function mountJob(island: HTMLElement, context: JobPage, live: Live): void {
  useStyleNonce(context.style_nonce);
  const { job } = context.snapshot;
  const topic = live.watch(`job:${job.id}`, { revision: context.revision, snapshot: context.snapshot });
  const tab = signal<DrawerTab>(job.kind === "tune" ? "trials" : "summary");
  const scale = signal<ChartScale>("auto");

  function Page() {
    const snapshot = topic.value.snapshot ?? context.snapshot;
    return (
      <div class="job-page">
        <JobDetail
          snapshot={snapshot}
          tab={tab.value}
          onTab={(name) => {
            tab.value = name;
          }}
          scale={scale.value}
          onScale={(chosen) => {
            scale.value = chosen;
          }}
          onCancel={() => void api.cancelJob(job.id).catch(warnAbout)}
          onRetry={() =>
            void api.retryJob(job.id).then((made) => location.assign(`/jobs/${made.id}`), warnAbout)
          }
        />
        <section class="job-source" aria-label={t("editor.label")}>
          <CodeView text={snapshot.source} language="formula" label={t("editor.label")} />
        </section>
      </div>
    );
  }
  // The server's own rendering stands for readers without scripts.
  document.getElementById("kc-job-static")?.setAttribute("hidden", "");
  island.replaceChildren();
  render(<Page />, island);
}

/** The one script of every page: it lays the frame and loads lazily what the page itself needs. */
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/site.css";
import "./styles/frame.css";
import "./styles/code.css";
import "./styles/operator.css";
import "./styles/job.css";
import "./styles/chart.css";
import { useCsrfCookie } from "./api/client";
import { type PageContext, readContext } from "./context";
import { useLanguage } from "./i18n";
import { enhanceFilters, enhanceRows } from "./pages/rows";
import { connectLive } from "./state/live";
import { listenForKeys } from "./ui/commands";
import { mountFrame, type Session } from "./ui/frame";
import { startTheme } from "./ui/theme";

function openSession(context: PageContext): Session {
  if (!context.user || !context.workspace) return { context, live: null, workspace: null, hosts: null };
  const live = connectLive(context.socket);
  return {
    context,
    live,
    workspace: live.watch(`workspace:${context.workspace.id}`),
    hosts: live.watch("hosts"),
  };
}

async function mountPage(session: Session): Promise<void> {
  const { context, live } = session;
  const island = document.getElementById("kc-island");
  if (context.page === "hosts" || context.page === "jobs") {
    (await import("./pages/refresh")).refreshOnChange(session);
  }
  if (!island || !live) return;
  if (context.page === "operator") {
    (await import("./operator/mount")).mountOperator(island, context, { ...session, live });
  } else if (context.page === "job") {
    (await import("./pages/job")).mountJob(island, context, live);
  } else if (context.page === "board") {
    (await import("./pages/board")).mountBoard(island, context, live);
  }
}

const context = readContext();
if (context) {
  useLanguage(context.language);
  useCsrfCookie(context.csrf_cookie);
  startTheme(context.theme);
  const session = openSession(context);
  mountFrame(session);
  listenForKeys();
  enhanceRows();
  enhanceFilters();
  void mountPage(session);
}

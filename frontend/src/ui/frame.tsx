/** What every page has: tools in the header, the status bar, the palette, notices. */
import type { ReadonlySignal } from "@preact/signals";
import { render } from "preact";
import { csrfToken } from "../api/client";
import type { HostList, WorkspaceSnapshot } from "../api/generated.gen";
import type { LanguageCode, PageContext, Theme } from "../context";
import { type MessageKey, plural, t } from "../i18n";
import type { Live } from "../state/live";
import type { TopicState } from "../state/topics";
import { type Command, keyLabel, provideCommands } from "./commands";
import { Icon, type IconName } from "./icons";
import { Notices } from "./notices";
import { openKeys, openPalette, Palette } from "./palette";
import { chooseLanguage, chooseTheme, theme } from "./theme";

export interface Session {
  context: PageContext;
  live: Live | null;
  workspace: ReadonlySignal<TopicState<WorkspaceSnapshot>> | null;
  hosts: ReadonlySignal<TopicState<HostList>> | null;
}

const THEMES: readonly [Theme, IconName, MessageKey][] = [
  ["system", "system", "theme.system"],
  ["light", "sun", "theme.light"],
  ["dark", "moon", "theme.dark"],
];

const LANGUAGES: readonly [LanguageCode, string][] = [
  ["en", "English"],
  ["zh-hans", "简体中文"],
];

function signOut(): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/sign-out";
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = csrfToken();
  form.append(token);
  document.body.append(form);
  form.submit();
}

function Tools({ context }: Session) {
  const signedIn = context.user !== null;
  const at = THEMES.findIndex(([name]) => name === theme.value);
  const [, icon, label] = THEMES[at] ?? THEMES[0] ?? ["system", "system", "theme.system"];
  const next = THEMES[(at + 1) % THEMES.length]?.[0] ?? "system";
  return (
    <>
      {signedIn && (
        <button type="button" class="kc-button is-quiet is-small" onClick={openPalette}>
          <Icon name="command" />
          {t("palette.open")}
          <kbd>{keyLabel("Mod+K")}</kbd>
        </button>
      )}
      <button
        type="button"
        class="kc-icon-button"
        title={`${t("theme.label")}: ${t(label)}`}
        aria-label={`${t("theme.label")}: ${t(label)}`}
        onClick={() => chooseTheme(next, signedIn)}
      >
        <Icon name={icon} />
      </button>
      {signedIn && (
        <>
          <select
            class="kc-select is-small is-quiet"
            aria-label={t("language.label")}
            value={context.language}
            onChange={(event) => void chooseLanguage(event.currentTarget.value as LanguageCode)}
          >
            {LANGUAGES.map(([code, name]) => (
              <option key={code} value={code}>
                {name}
              </option>
            ))}
          </select>
          <a class="kc-button is-quiet is-small" href="/settings" title={t("nav.settings")}>
            <Icon name="person" />
            {context.user?.display_name || context.user?.username}
          </a>
        </>
      )}
    </>
  );
}

/** Queue and hosts in words; the connection only when it is not well. */
export function QueueWords({ live, workspace, hosts }: Session) {
  if (!live) return null;
  const jobs = workspace?.value.snapshot?.jobs ?? [];
  const running = jobs.filter((job) => job.state === "running").length;
  const queued = jobs.filter((job) => job.state === "queued").length;
  const known = hosts?.value.snapshot?.items;
  const online = known?.filter((host) => host.online).length ?? 0;
  const connection = live.connection.value;
  return (
    <>
      {connection === "lost" && <span class="is-part kc-warn">{t("live.lost")}</span>}
      {connection === "signed_out" && <span class="is-part kc-bad">{t("live.signed_out")}</span>}
      {connection === "connecting" && <span class="is-part">{t("live.connecting")}</span>}
      <a class="is-part kc-soft" href="/jobs">
        {running + queued === 0 ? t("status.queue_empty") : t("status.queue", { running, queued })}
      </a>
      {known && (
        <a class={`is-part ${online === 0 ? "kc-warn" : "kc-soft"}`} href="/hosts">
          <Icon name="chip" small />
          {online === 0 ? t("hosts.none") : plural("hosts.online", online)}
        </a>
      )}
    </>
  );
}

const go = (address: string) => () => location.assign(address);

function frameCommands(session: Session): Command[] {
  const signedIn = session.context.user !== null;
  const pages: readonly [MessageKey, string][] = [
    ["nav.new_operator", "/operators/new"],
    ["nav.operators", "/operators"],
    ["nav.gallery", "/gallery"],
    ["nav.jobs", "/jobs"],
    ["nav.boards", "/boards"],
    ["nav.hosts", "/hosts"],
    ["nav.settings", "/settings"],
  ];
  const always: Command[] = [
    {
      id: "palette",
      title: t("palette.open"),
      icon: "command",
      keys: "Mod+K",
      run: openPalette,
      enabled: () => signedIn,
    },
    { id: "keys", title: t("keys.title"), icon: "command", keys: "?", run: openKeys },
    ...THEMES.map(([name, icon, label]) => ({
      id: `theme.${name}`,
      title: `${t("theme.label")}: ${t(label)}`,
      icon,
      run: () => chooseTheme(name, signedIn),
    })),
  ];
  if (!signedIn) return always;
  const operators = session.workspace?.value.snapshot?.operators ?? [];
  return [
    ...pages.map(([key, address]) => ({ id: address, title: t(key), run: go(address) })),
    ...always,
    ...LANGUAGES.map(([code, name]) => ({
      id: `language.${code}`,
      title: `${t("language.label")}: ${name}`,
      icon: "language" as const,
      run: () => void chooseLanguage(code),
    })),
    ...operators.map((operator) => ({
      id: operator.id,
      title: operator.name,
      group: t("nav.operators"),
      icon: "text" as const,
      run: go(`/operators/${operator.id}`),
    })),
    { id: "sign-out", title: t("action.sign_out"), icon: "person", run: signOut },
  ];
}

/** Renders the frame. A page with an island renders the status bar itself. */
export function mountFrame(session: Session): void {
  provideCommands(() => frameCommands(session));
  const tools = document.getElementById("kc-tools");
  if (tools) {
    tools.replaceChildren();
    render(<Tools {...session} />, tools);
  }
  const status = document.getElementById("kc-status");
  if (status && session.context.page !== "operator") {
    status.replaceChildren();
    render(<QueueWords {...session} />, status);
  }
  const layer = document.createElement("div");
  document.body.append(layer);
  render(
    <>
      <Palette />
      <Notices />
    </>,
    layer,
  );
}

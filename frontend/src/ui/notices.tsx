/** Short messages in a corner: what failed and what to do, or what was done. */
import { signal } from "@preact/signals";
import { ApiError } from "../api/client";
import { t } from "../i18n";
import { Icon, IconButton } from "./icons";

interface Notice {
  id: number;
  tone: "good" | "bad";
  text: string;
  hint: string;
}

const notices = signal<readonly Notice[]>([]);
let last = 0;

function add(tone: Notice["tone"], text: string, hint = ""): void {
  last += 1;
  const id = last;
  notices.value = [...notices.value.slice(-3), { id, tone, text, hint }];
  if (tone === "good") setTimeout(() => dismiss(id), 4000);
}

function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export const tell = (text: string): void => add("good", text);
export const warn = (text: string, hint = ""): void => add("bad", text, hint);

/** Shows why a request failed, with its code and the next step. */
export function warnAbout(problem: unknown): void {
  if (!(problem instanceof ApiError)) throw problem;
  if (problem.status === 0) warn(t("trouble.network"));
  else warn(`${problem.body.code} ${problem.body.message}`, problem.body.hint);
}

export function Notices() {
  return (
    <div class="kc-notices" role="status" aria-live="polite">
      {notices.value.map((notice) => (
        <div key={notice.id} class={`kc-notice is-${notice.tone}`}>
          <Icon name={notice.tone === "good" ? "check" : "warning"} />
          <div>
            <p>{notice.text}</p>
            {notice.hint && <p class="kc-soft">{t("trouble.hint", { hint: notice.hint })}</p>}
          </div>
          <IconButton icon="close" label={t("action.close")} onClick={() => dismiss(notice.id)} />
        </div>
      ))}
    </div>
  );
}

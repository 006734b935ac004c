/** A board's island: samples of every entry as a chart, and the chosen entry's source and Config. */
import { effect, signal } from "@preact/signals";
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { api } from "../api/client";
import type { BoardDetail, BoardEntry } from "../api/generated.gen";
import { BoardChart } from "../charts/board-chart";
import type { BoardPage } from "../context";
import { CodeView } from "../editor/code-view";
import { useStyleNonce } from "../editor/nonce";
import { t } from "../i18n";
import { sourceFile } from "../operator/words";
import type { Live } from "../state/live";
import { configLine } from "../ui/format";
import { IconButton } from "../ui/icons";
import { warnAbout } from "../ui/notices";
import { CopyButton, download } from "../ui/take";

/** The language of a target family's sources. */
const LANGUAGES: Record<string, string> = {
  c: "c",
  cuda: "cuda",
  hip: "hip c++",
  opencl: "opencl c",
  ascend: "cpp",
};

export function mountBoard(island: HTMLElement, context: BoardPage, live: Live): void {
  useStyleNonce(context.style_nonce);
  const topic = live.watch(`board:${context.board.board.id}`, {
    revision: context.revision,
    snapshot: context.board,
  });
  const chosen = signal<string | null>(context.board.entries[0]?.id ?? null);
  followRows(chosen);

  // The table is the server's; when ranks move it is fetched again.
  let seen = context.revision;
  effect(() => {
    if (topic.value.revision !== seen) {
      seen = topic.value.revision;
      void refreshTable().then(() => followRows(chosen));
    }
  });

  function Page() {
    const board = topic.value.snapshot ?? context.board;
    const entry = board.entries.find((item) => item.id === chosen.value) ?? board.entries[0] ?? null;
    return (
      <div class="board">
        <BoardChart board={board} chosen={entry?.id ?? null} />
        <EntrySource board={board} entry={entry} />
      </div>
    );
  }
  island.replaceChildren();
  render(<Page />, island);
}

/** Clicking or pressing Enter on a row of the server's table chooses the entry. */
function followRows(chosen: { value: string | null }): void {
  const rows = [...document.querySelectorAll<HTMLTableRowElement>("#kc-board tr[data-entry]")];
  const mark = () => {
    for (const row of rows) row.setAttribute("aria-selected", String(row.dataset.entry === chosen.value));
  };
  rows.forEach((row, place) => {
    row.tabIndex = 0;
    const choose = () => {
      chosen.value = row.dataset.entry ?? null;
      mark();
    };
    row.addEventListener("click", choose);
    row.addEventListener("keydown", (event) => {
      if (event.key === "Enter") choose();
      const step = /^(j|ArrowDown)$/.test(event.key) ? 1 : /^(k|ArrowUp)$/.test(event.key) ? -1 : 0;
      if (step === 0) return;
      event.preventDefault();
      rows[place + step]?.focus();
    });
  });
  mark();
}

async function refreshTable(): Promise<void> {
  const answer = await fetch(location.href, { credentials: "same-origin" });
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("kc-board");
  if (fresh) document.getElementById("kc-board")?.replaceWith(fresh);
}

function EntrySource({ board, entry }: { board: BoardDetail; entry: BoardEntry | null }) {
  const [source, setSource] = useState("");
  useEffect(() => {
    setSource("");
    if (entry) api.entrySource(board.board.id, entry.id).then((found) => setSource(found.source), warnAbout);
  }, [board.board.id, entry?.id]);
  if (!entry) return <p class="job-note kc-faint">{t("board.select_entry")}</p>;
  return (
    <section class="board-source" data-target={board.board.target}>
      <div class="kc-tabs">
        <h2 class="kc-target-name" data-target={board.board.target}>
          {t("board.source_of", { rank: entry.rank, author: entry.author })}
        </h2>
        <span class="kc-faint kc-mono is-words" title={configLine(entry.config)}>
          {configLine(entry.config)}
        </span>
        <span class="is-space" />
        <CopyButton
          text={() => source}
          what={t("board.source_of", { rank: entry.rank, author: entry.author })}
          disabled={!source}
        />
        <IconButton
          icon="download"
          label={t("action.download")}
          disabled={!source}
          onClick={() =>
            download(sourceFile(LANGUAGES[board.board.target.split(":", 1)[0] ?? ""] ?? ""), source)
          }
        />
      </div>
      <CodeView
        text={source}
        language="c"
        foldHelpers
        label={t("board.source_of", { rank: entry.rank, author: entry.author })}
      />
    </section>
  );
}

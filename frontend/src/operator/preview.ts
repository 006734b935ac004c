/** Live preview: debounced, one question at a time matters, answers to older questions are dropped. */
import { type Signal, signal } from "@preact/signals";
import { ApiError } from "../api/client";
import type { ErrorBody, PreviewAnswer, PreviewRequest } from "../api/generated.gen";

export type Asked = Omit<PreviewRequest, "request_id" | "stages">;
export type Ask = (request: PreviewRequest, signal: AbortSignal) => Promise<PreviewAnswer>;

export const DEBOUNCE = 150;

/** The last good answer stays on the screen, marked stale, until a newer good one replaces it. */
export class Preview {
  readonly answer: Signal<PreviewAnswer | null> = signal(null);
  readonly error: Signal<ErrorBody | null> = signal(null);
  readonly pending = signal(false);
  private count = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private running: AbortController | null = null;

  constructor(private readonly ask: Ask) {}

  /** Nothing is written: nothing is asked, and nothing is wrong. */
  clear(): void {
    clearTimeout(this.timer);
    this.running?.abort();
    this.count += 1;
    this.pending.value = false;
    this.error.value = null;
    this.answer.value = null;
  }

  /** Asks after a pause in typing; every call makes what is shown stale at once. */
  later(asked: Asked, wait: number = DEBOUNCE): void {
    this.pending.value = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.now(asked), wait);
  }

  /** Asks again for the same text (new evidence, say) without marking anything stale. */
  async now(asked: Asked): Promise<void> {
    clearTimeout(this.timer);
    this.running?.abort();
    const stop = new AbortController();
    this.running = stop;
    this.count += 1;
    const id = String(this.count);
    try {
      const answer = await this.ask({ ...asked, request_id: id }, stop.signal);
      if (answer.request_id === String(this.count)) this.take(answer);
    } catch (problem) {
      if (stop.signal.aborted || id !== String(this.count)) return;
      this.error.value = asError(problem);
      this.pending.value = false;
    }
  }

  private take(answer: PreviewAnswer): void {
    this.pending.value = false;
    this.error.value = answer.error;
    if (answer.ok) this.answer.value = answer;
  }
}

/** Whether a text holds no statement, only space and comments. */
export const isBlank = (source: string): boolean => source.replace(/#[^\n]*/g, "").trim() === "";

function asError(problem: unknown): ErrorBody {
  if (problem instanceof ApiError) return problem.body;
  return {
    code: "KC-X000",
    message: String(problem),
    hint: "",
    line: null,
    column: null,
    end_column: null,
    text: "",
  };
}

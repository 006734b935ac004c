import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { PreviewAnswer, PreviewRequest } from "../api/generated.gen";
import { type Asked, DEBOUNCE, isBlank, Preview } from "./preview";

const asked = (source: string): Asked => ({ source, shapes: {}, targets: ["c"], configs: {} });

const answer = (request: PreviewRequest, more: Partial<PreviewAnswer> = {}): PreviewAnswer => ({
  request_id: request.request_id ?? "",
  ok: true,
  digest: request.source,
  inputs: [],
  outputs: [],
  graph: "",
  onnx: "",
  targets: [],
  error: null,
  milliseconds: 1,
  ...more,
});

function harness() {
  const open: {
    request: PreviewRequest;
    settle: (more?: Partial<PreviewAnswer>) => void;
    fail: () => void;
  }[] = [];
  const preview = new Preview(
    (request) =>
      new Promise((resolve, reject) => {
        open.push({
          request,
          settle: (more) => resolve(answer(request, more)),
          fail: () => reject(new Error("down")),
        });
      }),
  );
  return { preview, open };
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("typing asks once, after the pause, and is stale meanwhile", async () => {
  const { preview, open } = harness();
  for (const text of ["a", "ab", "abc"]) preview.later(asked(text));
  expect(preview.pending.value).toBe(true);
  await vi.advanceTimersByTimeAsync(DEBOUNCE);
  expect(open.map((item) => item.request.source)).toEqual(["abc"]);
  open[0]?.settle();
  await vi.advanceTimersByTimeAsync(0);
  expect(preview.pending.value).toBe(false);
  expect(preview.answer.value?.digest).toBe("abc");
});

test("an answer to an older question is dropped, in whatever order answers come", async () => {
  const { preview, open } = harness();
  preview.later(asked("old"), 0);
  await vi.advanceTimersByTimeAsync(1);
  preview.later(asked("new"), 0);
  await vi.advanceTimersByTimeAsync(1);
  open[1]?.settle();
  await vi.advanceTimersByTimeAsync(0);
  open[0]?.settle();
  await vi.advanceTimersByTimeAsync(0);
  expect(preview.answer.value?.digest).toBe("new");
});

test("a wrong formula keeps the last good answer and reports its error", async () => {
  const { preview, open } = harness();
  preview.later(asked("good"), 0);
  await vi.advanceTimersByTimeAsync(1);
  open[0]?.settle();
  await vi.advanceTimersByTimeAsync(0);
  preview.later(asked("bad"), 0);
  await vi.advanceTimersByTimeAsync(1);
  const error = { code: "KC-F001", message: "m", hint: "", line: 1, column: 2, end_column: 3, text: "" };
  open[1]?.settle({ ok: false, error });
  await vi.advanceTimersByTimeAsync(0);
  expect(preview.answer.value?.digest).toBe("good");
  expect(preview.error.value?.code).toBe("KC-F001");
});

test("a server that does not answer is an error too, not an endless wait", async () => {
  const { preview, open } = harness();
  preview.later(asked("x"), 0);
  await vi.advanceTimersByTimeAsync(1);
  open[0]?.fail();
  await vi.advanceTimersByTimeAsync(0);
  expect(preview.pending.value).toBe(false);
  expect(preview.error.value?.message).toContain("down");
});

test("an emptied formula has neither an answer nor an error, and late answers do not come back", async () => {
  const { preview, open } = harness();
  preview.later(asked("good"), 0);
  await vi.advanceTimersByTimeAsync(1);
  open[0]?.settle();
  await vi.advanceTimersByTimeAsync(0);
  preview.later(asked("half"), 0);
  await vi.advanceTimersByTimeAsync(1);
  preview.clear();
  open[1]?.settle({ ok: false, error: null });
  await vi.advanceTimersByTimeAsync(0);
  expect([preview.answer.value, preview.error.value, preview.pending.value]).toEqual([null, null, false]);
});

test.each([
  ["", true],
  [" \n# note\n", true],
  ["Y = X", false],
  ["# a\nY", false],
])("blank: %j is %s", (text, blank) => {
  expect(isBlank(text)).toBe(blank);
});

import type {
  BoardDetail,
  CatalogOperator,
  CatalogTarget,
  EntrySource,
  ErrorBody,
  GalleryItem,
  JobCreate,
  JobSummary,
  JobsCreated,
  Me,
  OperatorCreate,
  OperatorDetail,
  PreferencesPatch,
  PreviewAnswer,
  PreviewRequest,
  QueuePlace,
  VersionCreate,
  VersionDetail,
} from "./generated.gen";

/** A refused or failed request. `body.code` is KC-X000 when no coded answer came (network, proxy). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly body: ErrorBody,
  ) {
    super(body.message);
  }
}

let csrfCookie = "csrftoken";

export function useCsrfCookie(name: string): void {
  csrfCookie = name;
}

export function csrfToken(): string {
  const found = document.cookie.split("; ").find((part) => part.startsWith(`${csrfCookie}=`));
  return found ? decodeURIComponent(found.slice(csrfCookie.length + 1)) : "";
}

const uncoded = (message: string): ErrorBody => ({
  code: "KC-X000",
  message,
  hint: "",
  line: null,
  column: null,
  end_column: null,
  text: "",
});

async function failure(answer: Response): Promise<ApiError> {
  const text = await answer.text();
  try {
    const envelope = JSON.parse(text) as { error?: ErrorBody };
    if (envelope.error) return new ApiError(answer.status, envelope.error);
  } catch {
    // Not JSON: a proxy or a crashed server; fall through to the status line.
  }
  return new ApiError(answer.status, uncoded(`${answer.status} ${answer.statusText}`));
}

async function send(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = { Accept: "application/json" };
  if (method !== "GET") headers["X-CSRFToken"] = csrfToken();
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer: Response;
  try {
    answer = await fetch(`/api${path}`, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      credentials: "same-origin",
      keepalive: method === "PATCH", // a preference chosen last may be sent while the page goes away
      signal,
    });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new ApiError(0, uncoded(String(problem)));
  }
  if (!answer.ok) throw await failure(answer);
  return answer;
}

async function json<Answer>(
  method: string,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Answer> {
  return (await send(method, path, body, signal)).json() as Promise<Answer>;
}

const id = encodeURIComponent;

export const api = {
  patchPreferences: (patch: PreferencesPatch) => json<Me>("PATCH", "/me/preferences", patch),
  targets: () => json<CatalogTarget[]>("GET", "/catalog/targets"),
  operatorCatalog: () => json<CatalogOperator[]>("GET", "/catalog/operators"),
  gallery: () => json<GalleryItem[]>("GET", "/catalog/gallery"),
  preview: (request: PreviewRequest, signal?: AbortSignal) =>
    json<PreviewAnswer>("POST", "/preview", request, signal),
  operator: (operator: string) => json<OperatorDetail>("GET", `/operators/${id(operator)}`),
  createOperator: (request: OperatorCreate) => json<OperatorDetail>("POST", "/operators", request),
  renameOperator: (operator: string, name: string) =>
    json<OperatorDetail>("PATCH", `/operators/${id(operator)}`, { name }),
  saveVersion: (operator: string, request: VersionCreate) =>
    json<OperatorDetail>("POST", `/operators/${id(operator)}/versions`, request),
  version: (operator: string, number: number) =>
    json<VersionDetail>("GET", `/operators/${id(operator)}/versions/${number}`),
  createJobs: (request: JobCreate) => json<JobsCreated>("POST", "/jobs", request),
  cancelJob: (job: string) => json<JobSummary>("POST", `/jobs/${id(job)}/cancel`),
  retryJob: (job: string) => json<JobSummary>("POST", `/jobs/${id(job)}/retry`),
  queuePlace: (job: string) => json<QueuePlace>("GET", `/jobs/${id(job)}/queue`),
  artifact: async (job: string, artifact: string) =>
    (await send("GET", `/jobs/${id(job)}/artifacts/${id(artifact)}`)).text(),
  board: (board: string) => json<BoardDetail>("GET", `/boards/${id(board)}`),
  entrySource: (board: string, entry: string) =>
    json<EntrySource>("GET", `/boards/${id(board)}/entries/${id(entry)}/source`),
};

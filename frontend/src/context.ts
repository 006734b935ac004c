import type {
  BoardDetail,
  GalleryItem,
  HostList,
  JobSnapshot,
  JobSummary,
  OperatorDetail,
  VersionDetail,
} from "./api/generated.gen";

export type Theme = "system" | "light" | "dark";
export type LanguageCode = "en" | "zh-hans";

interface AnyPage {
  page: string;
  language: LanguageCode;
  theme: Theme;
  user: { username: string; display_name: string } | null;
  workspace: { id: string; name: string } | null;
  csrf_cookie: string;
  socket: string;
  layout: Record<string, unknown>;
  style_nonce?: string;
}

export interface OperatorPage extends AnyPage {
  page: "operator";
  operator: OperatorDetail | null;
  version: VersionDetail | null;
  gallery_item: GalleryItem | null;
  targets: string[];
  jobs: JobSummary[];
}

export interface JobPage extends AnyPage {
  page: "job";
  revision: number;
  snapshot: JobSnapshot;
}

export interface BoardPage extends AnyPage {
  page: "board";
  revision: number;
  board: BoardDetail;
}

export interface HostsPage extends AnyPage {
  page: "hosts";
  hosts: HostList;
}

export interface JobsPage extends AnyPage {
  page: "jobs";
  jobs: JobSummary[];
}

export interface OtherPage extends AnyPage {
  page: "operators" | "gallery" | "boards" | "settings" | "sign_in" | "error";
}

export type PageContext = OperatorPage | JobPage | BoardPage | HostsPage | JobsPage | OtherPage;

/** What the server says about this page; null on a page without it (an error page of the server itself). */
export function readContext(): PageContext | null {
  const element = document.getElementById("kc-context");
  return element?.textContent ? (JSON.parse(element.textContent) as PageContext) : null;
}

import type { JobKind } from "../api/names";
import { isOver } from "../api/names";
import { t } from "../i18n";
import type { Command } from "../ui/commands";
import type { IconName } from "../ui/icons";
import { editorHandle, focusNextPane } from "./focus";
import type { DrawerTab, LowerTab } from "./layout";
import type { Store } from "./store";

export const JOB_BUTTONS: readonly { kind: JobKind; icon: IconName; keys: string }[] = [
  { kind: "build", icon: "build", keys: "Alt+B" },
  { kind: "check", icon: "check", keys: "Mod+Enter" },
  { kind: "profile", icon: "gauge", keys: "Alt+P" },
  { kind: "tune", icon: "tune", keys: "Alt+T" },
];

const LOWER: readonly LowerTab[] = ["graph", "tile", "onnx", "config"];
const DRAWER: readonly DrawerTab[] = ["summary", "log", "trials"];

export function operatorCommands(store: Store): Command[] {
  const job = store.job.value;
  const arrange = (change: object) => {
    store.layout.value = { ...store.layout.value, ...change };
  };
  return [
    ...JOB_BUTTONS.map(({ kind, icon, keys }) => ({
      id: `run.${kind}`,
      title: t(`action.${kind}`),
      icon,
      keys,
      run: () => void store.run(kind),
      enabled: () => store.obstacle(kind) === null,
    })),
    {
      id: "cancel",
      title: `${t("action.cancel")}: ${job ? t(`job.${job.kind}`) : ""} ${job?.target ?? ""}`,
      icon: "cross",
      keys: "Alt+X",
      run: () => job && void store.cancel(job.id),
      enabled: () => job !== null && !isOver(job.state),
    },
    { id: "save", title: t("action.save"), icon: "save", keys: "Mod+S", run: () => void store.save() },
    { id: "panes", title: t("keys.panes"), icon: "arrow", keys: "F6", run: focusNextPane },
    {
      id: "drawer",
      title: t("keys.drawer"),
      icon: "drawer",
      keys: "Mod+J",
      run: () => arrange({ drawerOpen: !store.layout.value.drawerOpen }),
    },
    {
      id: "rail",
      title: store.layout.value.railOpen ? t("rail.hide") : t("rail.show"),
      icon: "sidebar",
      keys: "Alt+S",
      run: () => arrange({ railOpen: !store.layout.value.railOpen }),
    },
    {
      id: "problem",
      title: t("editor.label"),
      icon: "text",
      run: () => editorHandle.value?.focus(),
    },
    ...LOWER.map((tab) => ({
      id: `lower.${tab}`,
      title: t(`pane.${tab}`),
      icon: "text" as const,
      run: () => arrange({ lowerOpen: true, lowerTab: tab }),
    })),
    ...DRAWER.map((tab) => ({
      id: `drawer.${tab}`,
      title: t(`drawer.${tab}`),
      icon: "drawer" as const,
      run: () => arrange({ drawerOpen: true, drawerTab: tab }),
    })),
    ...store.gallery.value.map((item) => ({
      id: `gallery.${item.slug}`,
      title: item.title,
      group: t("nav.gallery"),
      icon: "text" as const,
      run: () => location.assign(`/operators/new?from=${encodeURIComponent(item.slug)}`),
    })),
  ];
}

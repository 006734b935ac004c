/** Taking text away: to the clipboard or into a file. */
import { useState } from "preact/hooks";
import { t } from "../i18n";
import { IconButton } from "./icons";

/** `what` tells the buttons of several texts apart. */
export function CopyButton({
  text,
  what,
  disabled = false,
}: {
  text: () => string;
  what: string;
  disabled?: boolean;
}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <IconButton
      icon={done ? "check" : "copy"}
      label={`${t(done ? "action.copied" : "action.copy")} ${what}`}
      disabled={disabled}
      onClick={() => void copy()}
    />
  );
}

export function download(name: string, content: string | Blob): void {
  const blob = typeof content === "string" ? new Blob([content], { type: "text/plain" }) : content;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

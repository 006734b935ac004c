import { render } from "preact";
import type { OperatorPage } from "../context";
import { useStyleNonce } from "../editor/nonce";
import { provideCommands } from "../ui/commands";
import { OperatorApp } from "./app";
import { operatorCommands } from "./commands";
import { StatusBar } from "./status-bar";
import { type LiveSession, openStore } from "./store";

export function mountOperator(island: HTMLElement, context: OperatorPage, session: LiveSession): void {
  useStyleNonce(context.style_nonce);
  const store = openStore(context, session);
  provideCommands(() => operatorCommands(store));
  island.replaceChildren();
  render(<OperatorApp store={store} />, island);
  const status = document.getElementById("kc-status");
  if (status) {
    status.replaceChildren();
    render(<StatusBar store={store} />, status);
  }
}

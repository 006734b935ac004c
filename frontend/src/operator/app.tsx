/** The operator page: rail, editor, panes, drawer, and the splitters between them. */

import { t } from "../i18n";
import { Splitter } from "../ui/splitter";
import { Drawer } from "./drawer";
import { EditorColumn } from "./editor-column";
import type { Layout } from "./layout";
import { Panes } from "./panes";
import { Rail } from "./rail";
import type { Store } from "./store";
import { Toolbar } from "./toolbar";

const SMALLEST_PANES = 420;

export function OperatorApp({ store }: { store: Store }) {
  const layout = store.layout.value;
  const arrange = (change: Partial<Layout>) => {
    store.layout.value = { ...store.layout.value, ...change };
  };
  const sizes = {
    "--rail": layout.railOpen ? `${layout.rail}px` : "0px",
    "--editor": `${layout.editor}px`,
    "--drawer": layout.drawerOpen ? `${layout.drawer}px` : "32px",
  };
  return (
    <div class="op" style={sizes}>
      <Toolbar store={store} />
      <div class="op-middle">
        {layout.railOpen && (
          <>
            <Rail store={store} />
            <Splitter
              along="column"
              label={t("splitter.rail")}
              size={layout.rail}
              smallest={140}
              largest={() => 360}
              onResize={(rail) => arrange({ rail })}
            />
          </>
        )}
        <EditorColumn store={store} />
        <Splitter
          along="column"
          label={t("splitter.editor")}
          size={layout.editor}
          smallest={240}
          largest={() => window.innerWidth - (layout.railOpen ? layout.rail : 0) - SMALLEST_PANES}
          onResize={(editor) => arrange({ editor })}
        />
        <Panes store={store} arrange={arrange} />
      </div>
      {layout.drawerOpen && (
        <Splitter
          along="row"
          label={t("splitter.drawer")}
          size={layout.drawer}
          smallest={120}
          largest={() => window.innerHeight - 320}
          sign={-1}
          onResize={(drawer) => arrange({ drawer })}
        />
      )}
      <Drawer store={store} arrange={arrange} />
    </div>
  );
}

import { useState } from "preact/hooks";
import type { GalleryItem } from "../api/generated.gen";
import { t } from "../i18n";
import type { Store } from "./store";

export function Rail({ store }: { store: Store }) {
  const [query, setQuery] = useState("");
  const fits = (text: string) => text.toLowerCase().includes(query.trim().toLowerCase());
  const operators = (store.session.workspace?.value.snapshot?.operators ?? []).filter((item) =>
    fits(item.name),
  );
  const gallery = store.gallery.value.filter((item) => fits(`${item.title} ${item.group}`));
  const here = store.operator.value?.id;
  const from = here ? null : store.context.gallery_item?.slug;
  return (
    <nav class="op-rail" aria-label={t("rail.gallery")} data-pane="rail">
      <input
        class="kc-input is-small"
        type="search"
        aria-label={t("rail.filter")}
        placeholder={t("rail.filter")}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
      />
      <details open>
        <summary>{t("rail.mine")}</summary>
        <ul>
          {operators.map((item) => (
            <li key={item.id}>
              <a
                href={`/operators/${item.id}`}
                aria-current={item.id === here ? "page" : undefined}
                title={item.name}
              >
                {item.name}
              </a>
            </li>
          ))}
          {operators.length === 0 && query === "" && <li class="is-empty">{t("rail.none")}</li>}
        </ul>
      </details>
      <details open>
        <summary>{t("rail.gallery")}</summary>
        {groups(gallery).map(([group, items]) => (
          <ul key={group} aria-label={group}>
            <li class="is-group">{group}</li>
            {items.map((item) => (
              <li key={item.slug}>
                <a
                  href={`/operators/new?from=${encodeURIComponent(item.slug)}`}
                  aria-current={item.slug === from ? "page" : undefined}
                  title={item.summary}
                >
                  {item.title}
                </a>
              </li>
            ))}
          </ul>
        ))}
      </details>
    </nav>
  );
}

function groups(items: readonly GalleryItem[]): [string, GalleryItem[]][] {
  const found = new Map<string, GalleryItem[]>();
  for (const item of items) found.set(item.group, [...(found.get(item.group) ?? []), item]);
  return [...found];
}

/** Evidence facts as words with an icon; each fact stands by itself. */
import { FACTS, type Fact, type FactName } from "../api/names";
import { t } from "../i18n";
import { Icon, type IconName } from "./icons";

const ICONS: Record<FactName, IconName> = {
  rendered: "text",
  compiled: "build",
  emulated: "model",
  executed: "chip",
  measured: "clock",
};

export function Facts({
  facts,
}: {
  facts: readonly Pick<Fact, "fact" | "toolchain" | "device" | "detail">[];
}) {
  const held = FACTS.filter((name) => facts.some((item) => item.fact === name));
  if (held.length === 0) return <span class="kc-faint">{t("fact.none")}</span>;
  return (
    <ul class="kc-facts">
      {held.map((name) => {
        const rows = facts.filter((item) => item.fact === name);
        const from = rows.map((row) => [row.toolchain, row.device, row.detail].filter(Boolean).join(", "));
        const title = [t(`fact.${name}.means`), ...new Set(from.filter(Boolean))].join("\n");
        return (
          <li key={name} class="kc-fact" data-fact={name} title={title}>
            <Icon name={ICONS[name]} small />
            {t(`fact.${name}`)}
          </li>
        );
      })}
    </ul>
  );
}

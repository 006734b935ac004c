/** One Plotly figure that follows its traces, the theme and the size of its place. */
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../i18n";
import { warn } from "../ui/notices";
import { download } from "../ui/take";
import { loadPlotly } from "./load";
import { CONFIG } from "./look";

export interface Figure {
  traces: object[];
  layout: Record<string, unknown>;
}

interface PlotProps {
  figure: Figure;
  points: number;
  label: string;
  /** File name without ending, for PNG, SVG and CSV. */
  name: string;
  csv: () => string;
}

export function Plot({ figure, points, label, name, csv }: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  const plotly = useRef<PlotlyStatic | null>(null);
  const latest = useRef(figure);
  const [ready, setReady] = useState(false);
  latest.current = figure;

  useEffect(() => {
    let alive = true;
    const element = place.current;
    loadPlotly(points).then(
      (loaded) => {
        plotly.current = loaded;
        if (alive) setReady(true);
      },
      () => warn(t("trouble.network")),
    );
    const sizes = new ResizeObserver(() => {
      if (plotly.current && element && element.childElementCount > 0 && element.offsetWidth > 0)
        plotly.current.Plots.resize(element);
    });
    if (element) sizes.observe(element);
    return () => {
      alive = false;
      sizes.disconnect();
      if (element) plotly.current?.purge(element);
    };
  }, []);

  useEffect(() => {
    if (!ready || !place.current) return undefined;
    const element = place.current;
    const frame = requestAnimationFrame(() => {
      void plotly.current?.react(element, latest.current.traces, latest.current.layout, CONFIG);
    });
    return () => cancelAnimationFrame(frame);
  }, [ready, figure]);

  const save = async (format: "png" | "svg") => {
    if (!plotly.current || !place.current) return;
    const { offsetWidth: width, offsetHeight: height } = place.current;
    const address = await plotly.current.toImage(place.current, {
      format,
      width,
      height,
      scale: format === "png" ? 2 : 1,
    });
    download(`${name}.${format}`, format === "svg" ? svgText(address) : dataBlob(address));
  };

  return (
    <div class="kc-plot">
      <figure ref={place} class="kc-plot-place" aria-label={label} />
      {!ready && <p class="kc-plot-note kc-faint">{t("chart.loading")}</p>}
      <fieldset class="kc-plot-export">
        <legend class="kc-visually-hidden">{t("chart.export")}</legend>
        <button type="button" class="kc-button is-small is-quiet" onClick={() => void save("png")}>
          {t("chart.png")}
        </button>
        <button type="button" class="kc-button is-small is-quiet" onClick={() => void save("svg")}>
          {t("chart.svg")}
        </button>
        <button
          type="button"
          class="kc-button is-small is-quiet"
          onClick={() => download(`${name}.csv`, csv())}
        >
          {t("chart.csv")}
        </button>
      </fieldset>
    </div>
  );
}

const svgText = (address: string): string => decodeURIComponent(address.slice(address.indexOf(",") + 1));

/** A data URL as bytes, without fetch: connect-src does not allow data addresses. */
function dataBlob(address: string): Blob {
  const bytes = Uint8Array.from(atob(address.slice(address.indexOf(",") + 1)), (letter) =>
    letter.charCodeAt(0),
  );
  return new Blob([bytes], { type: "image/png" });
}

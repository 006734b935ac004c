import { useMemo } from "preact/hooks";
import type { Trial } from "../api/generated.gen";
import { t } from "../i18n";
import type { ChartScale } from "../operator/layout";
import { themeChanges } from "../ui/theme";
import { chartLook } from "./look";
import { Plot } from "./plot";
import { flattened, trialsCsv, trialsFigure } from "./trials-figure";

interface TrialsChartProps {
  trials: readonly Trial[];
  target: string;
  expected: number;
  name: string;
  scale: ChartScale;
  onScale: (scale: ChartScale) => void;
}

export function TrialsChart({ trials, target, expected, name, scale, onScale }: TrialsChartProps) {
  const theme = themeChanges.value;
  const logScale = scale === "auto" ? flattened(trials) : scale === "log";
  const figure = useMemo(
    () =>
      trialsFigure(trials, expected, logScale, chartLook(target), {
        trial: t("chart.trial"),
        time: t("chart.time"),
        measured: t("chart.measured"),
        predicted: t("chart.predicted"),
        failed: t("chart.failed"),
        best: t("chart.best"),
      }),
    [trials, expected, logScale, target, theme],
  );
  if (trials.length === 0) return <p class="job-note kc-faint">{t("chart.empty")}</p>;
  return (
    <div class="kc-chart" data-points={trials.length}>
      <label class="kc-checkbox kc-chart-scale">
        <input
          type="checkbox"
          checked={logScale}
          onChange={(event) => onScale(event.currentTarget.checked ? "log" : "linear")}
        />
        {t("chart.log")}
      </label>
      <Plot
        figure={figure}
        points={trials.length}
        label={t("drawer.trials")}
        name={name}
        csv={() => trialsCsv(trials)}
      />
    </div>
  );
}

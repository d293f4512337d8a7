// How a model did on a data set, beside how it did in training.
import type { Evaluation, ModelVersion } from '../api/model_types.ts';
import { formatInteger, metricWords } from '../lib/format.ts';
import { metricText } from '../lib/models.ts';
import { Figures } from '../ui/figures.tsx';

/** `model`: undefined when it is gone; then nothing stands beside the metrics. */
export function EvaluationTable({ model, evaluation }: { model: ModelVersion | undefined; evaluation: Evaluation }) {
  const trained = new Map((model?.metrics ?? []).map((metric) => [(metric.name ?? '').replace(/^[a-z_]+\./, ''), metric]));
  const rows = (evaluation.metrics ?? []).map((metric) => {
    const before = trained.get(metric.name ?? '');
    return { name: metricWords(metric.name), figures: [metricText(metric.name, metric.value), before ? metricText(before.name, before.value) : '–'] };
  });
  return (
    <>
      <Figures head={['Metric', 'Here', 'In training']} rows={rows} />
      <p class="sub">
        {formatInteger(evaluation.rows)} rows
        {evaluation.weightColumn ? `, weighted by ${evaluation.weightColumn}` : ''}
        {evaluation.skippedRows ? `, ${formatInteger(evaluation.skippedRows)} skipped` : ''}
        {evaluation.rowsByMean ? `, ${formatInteger(evaluation.rowsByMean)} predicted by the mean over all tasks` : ''}
        {evaluation.unknownLabelRows ? `, ${formatInteger(evaluation.unknownLabelRows)} with a label that the model does not know` : ''}
      </p>
    </>
  );
}

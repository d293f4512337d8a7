// How a model did on a data set, beside how it did in training.
import type { Evaluation, ModelVersion } from '../api/model_types.ts';
import { formatInteger, metricWords } from '../lib/format.ts';
import { metricText } from '../lib/models.ts';

/** `model`: undefined when it is gone; then nothing stands beside the metrics. */
export function EvaluationTable({ model, evaluation }: { model: ModelVersion | undefined; evaluation: Evaluation }) {
  const trained = new Map((model?.metrics ?? []).map((metric) => [(metric.name ?? '').replace(/^[a-z_]+\./, ''), metric]));
  return (
    <>
      <table class="table dense">
        <thead>
          <tr>
            <th scope="col">Metric</th>
            <th scope="col" class="number">Here</th>
            <th scope="col" class="number">In training</th>
          </tr>
        </thead>
        <tbody>
          {(evaluation.metrics ?? []).map((metric) => {
            const before = trained.get(metric.name ?? '');
            return (
              <tr key={metric.name}>
                <th scope="row">{metricWords(metric.name)}</th>
                <td class="number">{metricText(metric.name, metric.value)}</td>
                <td class="number">{before ? metricText(before.name, before.value) : '–'}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
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

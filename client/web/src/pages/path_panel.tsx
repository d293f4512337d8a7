// The values of an option that a job went through, what each came to, and which of them the model is of.
import type { ModelVersion } from '../api/model_types.ts';
import { formatInteger, formatReal, metricWords } from '../lib/format.ts';
import { isLogarithmic } from '../lib/held_out.ts';
import { metricText, pathOf } from '../lib/models.ts';
import { Panel } from '../ui/parts.tsx';
import { XyPlot } from '../ui/xy_plot.tsx';

export function PathPanel({ model }: { model: ModelVersion }) {
  const { score, values } = pathOf(model);
  if (values.length === 0) return null;
  const option = model.lineage?.request?.path?.option ?? 'value';
  return (
    <Panel title={`Path over ${option}`}>
      <PathChart model={model} option={option} />
      <table class="table dense">
        <thead>
          <tr>
            <th scope="col" class="number">{option}</th>
            <th scope="col" class="number">{metricWords(score)}</th>
            <th scope="col" class="number">in use</th>
            <th scope="col" class="number">gap</th>
            <th scope="col">
              <span class="hidden-label">Chosen</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {values.map((one, index) => (
            <tr key={index} aria-current={one.best ? 'true' : undefined}>
              <td class="number">{formatReal(one.value)}</td>
              <td class="number">{metricText(score, one.score)}</td>
              <td class="number">{formatInteger(one.activeTerms)}</td>
              <td class="number">{formatReal(one.gap, 2)}</td>
              <td>{one.best ? 'this model' : ''}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

/** The score against the value, with its standard deviation over the folds. */
function PathChart({ model, option }: { model: ModelVersion; option: string }) {
  const { score, values } = pathOf(model);
  const points = values.slice().sort((a, b) => a.value - b.value);
  if (points.length < 2) return null;
  const best = points.find((point) => point.best);
  const hasSpread = points.some(({ deviation }) => deviation > 0);
  return (
    <>
      <XyPlot
        series={[
          {
            label: metricWords(score),
            colour: '--series-1',
            kind: 'line and points',
            points: points.map(({ value, score: one }) => [value, one]),
            spread: points.map(({ deviation }) => deviation),
            marked: points.map((point) => point === best),
          },
        ]}
        logX={isLogarithmic(points.map(({ value }) => value))}
        xLabel={option}
        yLabel={metricWords(score)}
        formatY={(value) => (score === 'accuracy' ? `${formatReal(100 * value, 3)} %` : formatReal(value, 3))}
        description={`${metricWords(score)} for ${points.length} values of ${option}${best ? `, best ${metricText(score, best.score)} at ${formatReal(best.value)}` : ''}`}
      />
      {hasSpread ? <p class="sub">Vertical lines: one standard deviation over the folds, up and down.</p> : null}
    </>
  );
}

// The values of an option that a job went through, and which of them the model is of.
import type { Model } from '../api/model_types.ts';
import { formatInteger, formatReal } from '../lib/format.ts';
import { metricText, pathOf } from '../lib/models.ts';
import { Panel } from '../ui/parts.tsx';

export function PathPanel({ model }: { model: Model }) {
  const { score, values } = pathOf(model);
  if (values.length === 0) return null;
  const option = model.lineage?.request?.path?.option ?? 'value';
  return (
    <Panel title={`Path over ${option}`}>
      <table class="table dense">
        <thead>
          <tr>
            <th scope="col">{option}</th>
            <th scope="col">{score}</th>
            <th scope="col">in use</th>
            <th scope="col">gap</th>
            <th scope="col" />
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

// How a model did on rows that it was not trained on: which classes it confuses, its curves, its residuals.
import { useState } from 'preact/hooks';
import type { ClassCurve, HeldOut, ModelVersion } from '../api/model_types.ts';
import { formatInteger, formatPercent, formatReal } from '../lib/format.ts';
import { confusionRows, heldOutWords, precisionRecallPoints, residualHistogram, residualPoints, rocPoints } from '../lib/held_out.ts';
import { Choice } from '../ui/choice.tsx';
import { Panel, Scroll } from '../ui/parts.tsx';
import { XyPlot } from '../ui/xy_plot.tsx';

// As many curves as can be told apart; the others are chosen by name.
const CURVES_AT_ONCE = 4;

export function HeldOutPanels({ model }: { model: ModelVersion }) {
  const { heldOut } = model;
  if (!heldOut) return null;
  return (
    <>
      <ConfusionPanel heldOut={heldOut} />
      <CurvesPanel key={model.name} curves={heldOut.curves ?? []} heldOut={heldOut} />
      <ResidualsPanel heldOut={heldOut} target={model.target ?? 'target'} />
    </>
  );
}

function ConfusionPanel({ heldOut }: { heldOut: HeldOut }) {
  const rows = confusionRows(heldOut);
  if (rows.length === 0) return null;
  return (
    <Panel title="Predicted and true classes">
      <Scroll label="Rows by true and predicted class">
        <table class="table dense confusion">
          <thead>
            <tr>
              <th scope="col">true ↓ predicted →</th>
              {rows.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ label, cells }, row) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {cells.map(({ count, share }, column) => (
                  <td
                    key={column}
                    class={`number ${row === column ? 'right' : 'wrong'}`}
                    style={{ '--share': `${Math.round(100 * share)}%` }}
                    title={`${formatPercent(share)} of ${label}`}
                  >
                    {formatInteger(count)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <p class="sub">{heldOutWords(heldOut)}.</p>
    </Panel>
  );
}

function CurvesPanel({ curves, heldOut }: { curves: ClassCurve[]; heldOut: HeldOut }) {
  const [first, setFirst] = useState(0);
  if (curves.length === 0) return null;
  const shown = curves.slice(first, first + CURVES_AT_ONCE);
  const several = curves.length > 1;
  const seriesOf = (points: (curve: ClassCurve) => [number, number][], area: (curve: ClassCurve) => number | string | undefined) =>
    shown.map((curve, index) => ({
      label: `${curve.label ?? ''}: ${formatReal(area(curve), 3)}`,
      colour: `--series-${index + 1}`,
      kind: 'line' as const,
      points: points(curve),
    }));
  const roc = seriesOf(rocPoints, (curve) => curve.areaUnderRoc);
  const precision = seriesOf(precisionRecallPoints, (curve) => curve.averagePrecision);
  const pages = Array.from({ length: Math.ceil(curves.length / CURVES_AT_ONCE) }, (_, page) => {
    const of = curves.slice(page * CURVES_AT_ONCE, (page + 1) * CURVES_AT_ONCE);
    return { value: String(page * CURVES_AT_ONCE), text: `${of[0]?.label} … ${of.at(-1)?.label}` };
  });
  const aside = pages.length > 1 ? <Choice label="Classes" value={String(first)} choices={pages} onChange={(value) => setFirst(Number(value))} /> : null;
  return (
    <Panel title="Thresholds" aside={aside}>
      <div class="plots">
        <section>
          <h3>ROC curve{several ? 's, each class against the others' : ` of ${shown[0]?.label ?? ''}`}</h3>
          <XyPlot
            series={roc}
            diagonal
            xRange={[0, 1]}
            yRange={[0, 1]}
            xLabel="false positive rate"
            yLabel="true positive rate"
            description={`ROC: area under the curve ${roc.map(({ label }) => label).join('; ')}`}
          />
        </section>
        <section>
          <h3>Precision and recall</h3>
          <XyPlot
            series={precision}
            xRange={[0, 1]}
            yRange={[0, 1]}
            xLabel="recall"
            yLabel="precision"
            description={`Precision against recall: average precision ${precision.map(({ label }) => label).join('; ')}`}
          />
        </section>
      </div>
      <p class="sub">
        {several ? 'Numbers are areas under the ROC curve, and average precisions. ' : `Area under the ROC curve ${formatReal(shown[0]?.areaUnderRoc, 4)}, average precision ${formatReal(shown[0]?.averagePrecision, 4)}. `}
        {heldOutWords(heldOut)}.
      </p>
    </Panel>
  );
}

function ResidualsPanel({ heldOut, target }: { heldOut: HeldOut; target: string }) {
  const points = residualPoints(heldOut);
  if (points.length === 0) return null;
  const histogram = residualHistogram(heldOut);
  return (
    <Panel title="Residuals">
      <div class="plots">
        <section>
          <h3>Against predictions</h3>
          <XyPlot
            series={[{ label: 'residual', colour: '--series-1', kind: 'points', points }]}
            level={0}
            xLabel={`predicted ${target}`}
            yLabel="actual less predicted"
            description={`Residuals of ${formatInteger(points.length)} rows against their predictions`}
          />
        </section>
        <section>
          <h3>How often</h3>
          <XyPlot
            series={[{ label: 'rows', colour: '--series-1', kind: 'bars', points: histogram }]}
            yRange={[0, 1.05 * Math.max(1, ...histogram.map(([, count]) => count))]}
            xLabel="actual less predicted"
            yLabel="rows"
            formatY={(value) => formatInteger(value)}
            description="How many rows have which residual"
          />
        </section>
      </div>
      <p class="sub">{heldOutWords(heldOut)}.</p>
    </Panel>
  );
}

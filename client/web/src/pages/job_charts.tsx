// The charts of a job: bounds of the objective, gap, kernels and support vectors, against time or iteration.
import { useState } from 'preact/hooks';
import type { Job } from '../api/types.ts';
import { useProgress } from '../context.tsx';
import { formatInteger, formatReal, formatSeconds } from '../lib/format.ts';
import { parseReal } from '../lib/numbers.ts';
import { isFinal } from '../live/job_store.ts';
import { Chart } from '../ui/chart.tsx';
import { Panel } from '../ui/parts.tsx';
import { Switch } from '../ui/switch.tsx';

type Axis = 'time' | 'iteration';

export function JobCharts({ job }: { job: Job }) {
  const [axis, setAxis] = useState<Axis>('time');
  const [log, setLog] = useState(false);
  const progress = useProgress(job.name);
  if (!progress || progress.series.time.length === 0) {
    return isFinal(job) ? null : <p class="panel hint">The charts begin with the first step of the training.</p>;
  }
  const { series, cuts } = progress;
  const last = (values: (number | null)[]) => values.findLast((value) => value !== null) ?? null;
  const common = {
    x: axis === 'time' ? series.time : series.iteration,
    formatX: axis === 'time' ? formatSeconds : (value: number) => formatInteger(value),
    marks: cuts.map((cut) => cut[axis]),
    version: progress.version,
  };
  const wanted = parseReal(job.request?.stopping?.relativeGap) ?? 1e-3;
  return (
    <>
      <div class="chart-bar">
        <Switch label="Against" value={axis} choices={['time', 'iteration']} onChange={setAxis} />
        <Switch label="Objective" value={log ? 'log' : 'linear'} choices={['linear', 'log']} onChange={(value) => setLog(value === 'log')} />
        {cuts.length > 0 ? <span class="sub">dashed: went on from a checkpoint</span> : null}
      </div>
      <div class="charts">
        <Panel title="Objective and bound">
          <Chart
            {...common}
            log={log}
            band
            series={[
              { label: 'objective', colour: '--series-1', values: series.primal },
              { label: 'lower bound of the optimum', colour: '--series-2', values: series.dual },
            ]}
            description={`Objective ${formatReal(last(series.primal), 6)}, the optimum is at least ${formatReal(last(series.dual), 6)}`}
          />
        </Panel>
        <Panel title="Relative gap" aside={<span class="sub">dashed: wanted, {formatReal(wanted, 2)}</span>}>
          <Chart
            {...common}
            log
            level={wanted}
            formatY={(value) => value.toExponential(0).replace('e+', 'e')}
            series={[{ label: 'relative gap', colour: '--series-3', values: series.gap }]}
            description={`Relative gap ${formatReal(last(series.gap), 2)}, wanted ${formatReal(wanted, 2)}, on a logarithmic scale`}
          />
        </Panel>
        <Panel title="Kernels and support vectors">
          <Chart
            {...common}
            formatY={(value) => (Number.isInteger(value) ? formatInteger(value) : '')}
            series={[
              { label: 'support vectors', colour: '--series-1', values: series.supportVectors },
              { label: 'active kernels (right)', colour: '--series-4', values: series.activeKernels, axis: 'right', dash: [6, 4] },
            ]}
            description={`${formatInteger(last(series.activeKernels) ?? 0)} active kernels, ${formatInteger(last(series.supportVectors) ?? 0)} support vectors`}
          />
        </Panel>
      </div>
    </>
  );
}

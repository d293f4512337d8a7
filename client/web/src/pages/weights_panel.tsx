// Which kernels, columns or families matter.
import { useState } from 'preact/hooks';
import type { Model } from '../api/model_types.ts';
import { formatInteger } from '../lib/format.ts';
import { type Grouping, weightBars } from '../lib/weights.ts';
import { Bars } from '../ui/bars.tsx';
import { Panel } from '../ui/parts.tsx';
import { Switch } from '../ui/switch.tsx';

const GROUPINGS: Grouping[] = ['kernel', 'column', 'family'];

export function WeightsPanel({ model }: { model: Model }) {
  const [grouping, setGrouping] = useState<Grouping>('kernel');
  const [output, setOutput] = useState(0);
  const weights = model.kernelWeights;
  const outputs = model.coding?.outputNames ?? [];
  if (!weights?.kernels?.length) {
    return (
      <Panel title="Kernel weights">
        <p class="sub">This model says no kernel weights.</p>
      </Panel>
    );
  }
  const bars = weightBars(weights, output, grouping);
  const active = weightBars(weights, output, 'kernel').filter((bar) => bar.value !== 0).length;
  return (
    <Panel
      title="Kernel weights"
      aside={<span class="sub">{formatInteger(active)} of {formatInteger(weights.kernels.length)} kernels in use</span>}
    >
      <div class="panel-tools">
        <Switch label="Per" value={grouping} choices={GROUPINGS} onChange={setGrouping} />
        {outputs.length > 1 ? (
          <label class="inline-select">
            <span class="sub">Output</span>
            <select value={output} onChange={(event) => setOutput(Number(event.currentTarget.value))}>
              {outputs.map((name, index) => (
                <option key={name} value={index}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        ) : null}
      </div>
      <Bars key={`${grouping} ${output}`} bars={bars} label={`Weights per ${grouping}, largest first`} />
    </Panel>
  );
}

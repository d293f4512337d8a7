// Which kernels, columns or families matter; or which features were chosen.
import { useState } from 'preact/hooks';
import type { ModelVersion } from '../api/model_types.ts';
import { formatInteger } from '../lib/format.ts';
import { kernelGroups } from '../lib/groups.ts';
import { type Grouping, featureBars, groupingsOf, weightBars } from '../lib/weights.ts';
import { Bars } from '../ui/bars.tsx';
import { Choice } from '../ui/choice.tsx';
import { GroupBars } from '../ui/group_bars.tsx';
import { Panel } from '../ui/parts.tsx';
import { Switch } from '../ui/switch.tsx';
import { Filters } from './filters_panel.tsx';

interface OutputSelectProps {
  outputs: string[];
  value: number;
  onChange: (output: number) => void;
  /** What they are. */
  label?: string;
}

/** A choice among outputs, or other columns, where there are several. */
export function OutputSelect({ outputs, value, onChange, label = 'Output' }: OutputSelectProps) {
  if (outputs.length < 2) return null;
  const choices = outputs.map((text, index) => ({ value: String(index), text }));
  return <Choice label={label} value={String(value)} choices={choices} onChange={(chosen) => onChange(Number(chosen))} />;
}

function FeaturesPanel({ model }: { model: ModelVersion }) {
  const [output, setOutput] = useState(0);
  const bars = featureBars(model.featureWeights, output);
  return (
    <Panel title="Chosen features" aside={<span class="sub">{formatInteger(bars.length)} groups</span>}>
      <div class="panel-tools">
        <OutputSelect outputs={model.coding?.outputNames ?? []} value={output} onChange={setOutput} />
      </div>
      <Bars key={`${output}`} bars={bars} label="Norms of the weights of the features, largest first" />
      <Filters bars={bars} />
    </Panel>
  );
}

export function WeightsPanel({ model }: { model: ModelVersion }) {
  const [chosen, setGrouping] = useState<Grouping>();
  const [output, setOutput] = useState(0);
  const weights = model.kernelWeights;
  if (model.featureWeights?.features?.length) return <FeaturesPanel model={model} />;
  if (!weights?.kernels?.length) {
    return (
      <Panel title="Kernel weights">
        <p class="sub">This model says no kernel weights.</p>
      </Panel>
    );
  }
  const groupings = groupingsOf(weights);
  const grouping = chosen && groupings.includes(chosen) ? chosen : (groupings[0] ?? 'kernel');
  const active = weightBars(weights, output, 'kernel').filter((bar) => bar.value !== 0).length;
  return (
    <Panel
      title="Kernel weights"
      aside={<span class="sub">{formatInteger(active)} of {formatInteger(weights.kernels.length)} kernels in use</span>}
    >
      <div class="panel-tools">
        <Switch label="Per" value={grouping} choices={groupings} onChange={setGrouping} />
        <OutputSelect outputs={model.coding?.outputNames ?? []} value={output} onChange={setOutput} />
      </div>
      {grouping === 'group' ? (
        <GroupBars key={`${output}`} groups={kernelGroups(model, output)} label="Kernels in their groups, largest weights first" />
      ) : (
        <Bars key={`${grouping} ${output}`} bars={weightBars(weights, output, grouping)} label={`Weights per ${grouping}, largest first`} />
      )}
    </Panel>
  );
}

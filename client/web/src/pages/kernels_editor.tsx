// The families of kernels of a training.
import type { Dataset } from '../api/dataset_types.ts';
import type { LearnerDescription } from '../api/types.ts';
import { hasWidth, isSpaced, isSquare, KERNEL_TYPES, kernelCount, type KernelForm, newKernel, type Rule, widthField } from '../form/kernel_form.ts';
import { learnerPath } from '../form/names.ts';
import { formatInteger } from '../lib/format.ts';
import { boundTo, CheckField, SelectField, TextField } from '../ui/field.tsx';
import { Panel } from '../ui/parts.tsx';
import { ranged, type SectionProps } from './train_sections.tsx';

const RULES = [
  { value: 'MEDIAN_MULTIPLES', text: 'times the median distance' },
  { value: 'LIST', text: 'as listed' },
  { value: 'LOG_SPACED', text: 'from … to, equal ratios' },
  { value: 'MEDIAN_SPACED', text: 'times the median, from … to' },
];
const SCALINGS = [
  { value: '', text: 'none' },
  { value: 'TRACE', text: '1 / trace' },
  { value: 'MEAN_DIAGONAL', text: 'mean diagonal 1' },
  { value: 'VARIANCE', text: 'unit variance' },
  { value: 'CENTRED_TRACE', text: 'unit centred trace' },
];
const REPAIRS = [
  { value: '', text: 'default: taken as they are' },
  { value: 'NONE', text: 'taken as they are' },
  { value: 'CHECK', text: 'refused, with their size' },
  { value: 'SHIFT', text: 'shifted: all eigenvalues are raised' },
  { value: 'CLIP', text: 'clipped: negative ones become 0' },
  { value: 'FLIP', text: 'flipped: negative ones change their sign' },
];

export function KernelsEditor({ form, change, learner, dataset }: SectionProps & { learner: LearnerDescription; dataset: Dataset | undefined }) {
  const columns = Number(dataset?.numColumns ?? 0);
  const total = form.kernels.reduce((sum, kernel) => sum + kernelCount(kernel, columns), 0);
  const set = (kernel: KernelForm, part: Partial<KernelForm>) =>
    change({ kernels: form.kernels.map((each) => (each.key === kernel.key ? { ...each, ...part } : each)) });
  return (
    <Panel title="Kernels" aside={dataset && total > 0 ? <span class="sub">{formatInteger(total)} in all</span> : null}>
      <div class="form">
        {form.kernels.length === 0 ? (
          <p class="sub">None: {learner.defaultKernels}.</p>
        ) : null}
        {form.kernels.map((kernel, index) => (
          <KernelFields
            key={kernel.key}
            kernel={kernel}
            path={`${learnerPath(learner)}.kernels[${index}]`}
            dataset={dataset}
            set={(part) => set(kernel, part)}
            remove={() => change({ kernels: form.kernels.filter((each) => each.key !== kernel.key) })}
          />
        ))}
        {form.squareRepair || form.kernels.some(({ type }) => type === 'PRECOMPUTED') ? (
          <div class="fields">
            <SelectField
              path="preprocessing.square_repair"
              label="Negative eigenvalues of precomputed kernels"
              choices={REPAIRS}
              value={form.squareRepair}
              onChange={(squareRepair) => change({ squareRepair })}
              help="Of their values between training rows. Rows to predict are treated alike; distances need none of it."
            />
          </div>
        ) : null}
        <div>
          <button type="button" class="button small" onClick={() => change({ kernels: [...form.kernels, newKernel()] })}>
            Add a family of kernels
          </button>
        </div>
      </div>
    </Panel>
  );
}

interface KernelProps {
  kernel: KernelForm;
  path: string;
  dataset: Dataset | undefined;
  set: (part: Partial<KernelForm>) => void;
  remove: () => void;
}

function KernelFields({ kernel, path, dataset, set, remove }: KernelProps) {
  const type = KERNEL_TYPES.find((each) => each.value === kernel.type);
  const bound = boundTo(kernel, set);
  const count = kernelCount(kernel, Number(dataset?.numColumns ?? 0));
  const blocks = isSquare(kernel.type) ? (dataset?.squares ?? []) : (dataset?.blocks ?? []);
  return (
    <div class="kernel" role="group" aria-label={`${type?.text ?? kernel.type} kernels`}>
      <div class="kernel-head">
        <span class="sub">
          {type?.formula} {dataset && count > 1 ? `· makes ${formatInteger(count)} kernels` : ''}
        </span>
        <button type="button" class="button small" onClick={remove}>
          Remove
        </button>
      </div>
      <div class="fields">
        <SelectField path={`${path}.type`} label="Kernel" choices={KERNEL_TYPES} value={kernel.type} onChange={(value) => set({ type: value, block: '' })} />
        <WidthFields kernel={kernel} path={path} set={set} />
        {kernel.type === 'POLYNOMIAL' ? (
          <>
            <TextField path={`${path}.degree`} label={ranged('Degree', '1 … 20')} numeric placeholder="default: 3" {...bound('degree')} />
            <TextField path={`${path}.scale`} label={ranged('Scale', '(0, inf)')} numeric placeholder="default: 1" {...bound('scale')} />
            <TextField path={`${path}.offset`} label={ranged('Offset', '[0, inf)')} numeric placeholder="default: 1" {...bound('offset')} />
          </>
        ) : null}
        {blocks.length > 1 || isSquare(kernel.type) ? (
          <SelectField
            path={`${path}.block`}
            label="Block"
            choices={[{ value: '', text: isSquare(kernel.type) ? 'Choose…' : 'all of them' }, ...blocks.map(({ name = '' }) => ({ value: name, text: name }))]}
            {...bound('block')}
          />
        ) : null}
        {isSquare(kernel.type) ? null : (
          <TextField path={`${path}.columns`} label="Columns" placeholder="all" help="Names between commas." {...bound('columns')} />
        )}
        <TextField path={`${path}.name`} label="Name" placeholder="default: what it is" {...bound('name')} />
        <TextField path={`${path}.group`} label="Group" placeholder="none" help="For learners that weigh groups of kernels." {...bound('group')} />
        <SelectField path={`${path}.normalization`} label="Scale of the matrix" choices={SCALINGS} {...bound('scaling')} />
      </div>
      <div class="actions">
        {isSquare(kernel.type) ? null : (
          <>
            <CheckField label="one kernel per column" checked={kernel.perColumn} onChange={(perColumn) => set({ perColumn })} />
            <CheckField label="unit diagonal" checked={kernel.unitDiagonal} onChange={(unitDiagonal) => set({ unitDiagonal })} />
          </>
        )}
      </div>
    </div>
  );
}

function WidthFields({ kernel, path, set }: Pick<KernelProps, 'kernel' | 'path' | 'set'>) {
  if (!hasWidth(kernel.type)) return null;
  const bound = boundTo(kernel, set);
  const median = kernel.rule === 'MEDIAN_MULTIPLES';
  return (
    <>
      <SelectField path={`${path}.rule`} label="Widths" choices={RULES} value={kernel.rule} onChange={(rule) => set({ rule: rule as Rule })} />
      {isSpaced(kernel.rule) ? (
        <>
          <TextField path={`${path}.min_bandwidth`} label="From" numeric {...bound('minBandwidth')} />
          <TextField path={`${path}.max_bandwidth`} label="To" numeric {...bound('maxBandwidth')} />
          <TextField path={`${path}.count`} label="How many" numeric {...bound('count')} />
        </>
      ) : (
        <TextField
          path={`${path}.${widthField(kernel)}`}
          label={median ? 'Multiples' : 'Widths b'}
          numeric
          placeholder={median ? 'default: the median itself' : 'default: the median distance'}
          {...bound('bandwidths')}
        />
      )}
    </>
  );
}

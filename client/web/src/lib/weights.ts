// Kernel weights for bars: read from the names of kernels, grouped by family or column, and sorted.
import type { FeatureWeights, KernelWeights } from '../api/model_types.ts';
import { KERNEL_TYPES } from '../form/kernel_form.ts';
import { formatReal } from './format.ts';

const FAMILIES = new Set(KERNEL_TYPES.map(({ value }) => value.toLowerCase()));

export interface KernelName {
  /** "gaussian" */
  family: string;
  /** Names of the columns, joined by "+"; empty: all of them. */
  columns: string;
  block: string;
  /** What tells it from the others of its family: "width 0.5". */
  parameters: string;
}

/** Reads "gaussian(bandwidth=0.5, columns=age+sex, unit_diagonal)". Names of columns may hold anything but what follows them. Of equal
 *  kernels all but the first have a number behind them, " (2)". */
export function parseKernelName(name: string): KernelName {
  const numbered = /^(.*) (\(\d+\))$/s.exec(name);
  const number = numbered && FAMILIES.has((numbered[1] ?? '').split('(')[0] ?? '') ? numbered[2] : undefined;
  const match = /^([^(]+)(?:\((.*)\))?$/s.exec(number ? (numbered?.[1] ?? '') : name);
  if (!match) return { family: name, columns: '', block: '', parameters: '' };
  const family = match[1] ?? '';
  const rest = match[2] ?? '';
  const columns = /(?:^|, )columns=(.*?)(?:, unit_diagonal)?(?:, scaling=[a-z_]+)?$/s.exec(rest);
  const before = columns ? rest.slice(0, columns.index) : rest;
  const block = /(?:^|, )block=(.*?)(?:, unit_diagonal)?(?:, scaling=[a-z_]+)?$/s.exec(before);
  const parameters = (block ? before.slice(0, block.index) : before)
    .split(', ')
    .filter(Boolean)
    .map((part) => part.replace(/^bandwidth=(.*)$/, (_, width: string) => `width ${formatReal(width)}`).replace('=', ' '))
    .concat(number ?? []);
  return { family, columns: columns?.[1] ?? '', block: block?.[1] ?? '', parameters: parameters.join(', ') };
}

/** A name that a user has given is its own label. */
export function kernelLabel(name: string): string {
  const { family, columns, block, parameters } = parseKernelName(name);
  if (!FAMILIES.has(family)) return name;
  const place = columns || (block ? `block ${block}` : 'all columns');
  return [place, family.replaceAll('_', ' '), parameters].filter(Boolean).join(' · ');
}

/** Which kernels have a weight for any output. */
function selected(weights: KernelWeights | undefined): boolean[] {
  const outputs = Number(weights?.weights?.columns ?? 1);
  const values = weights?.weights?.values ?? [];
  return (weights?.kernels ?? []).map((_, kernel) => values.slice(kernel * outputs, (kernel + 1) * outputs).some((value) => Number(value) !== 0));
}

/** Kernels with a weight for any output; undefined: the model has none, or too many to say. */
export function activeKernels(weights: KernelWeights | undefined): number | undefined {
  return weights?.kernels?.length ? selected(weights).filter(Boolean).length : undefined;
}

/** Groups that have such a kernel; 0: the kernels are in no groups. */
export function activeGroups(weights: KernelWeights | undefined): number {
  const groups = weights?.groups ?? [];
  const chosen = selected(weights);
  return new Set(groups.filter((_, kernel) => chosen[kernel])).size;
}

export type Grouping = 'kernel' | 'column' | 'family' | 'group';

/** Those that there are of these weights, the first one to begin with. */
export function groupingsOf(weights: KernelWeights | undefined): Grouping[] {
  return weights?.groups?.length ? ['group', 'kernel', 'column', 'family'] : ['kernel', 'column', 'family'];
}

export interface WeightBar {
  label: string;
  /** The full name, or what the group holds. */
  title: string;
  value: number;
  /** Kernels in the group. */
  count: number;
}

function groupOf(name: string, group: string, grouping: Grouping): string {
  if (grouping === 'kernel') return kernelLabel(name);
  if (grouping === 'group') return group || 'without group';
  const { family, columns, block } = parseKernelName(name);
  if (grouping === 'family') return family.replaceAll('_', ' ');
  // What a kernel with a name of its own reads is not said.
  return columns || (block ? `block ${block}` : FAMILIES.has(family) ? 'all columns together' : family);
}

/** Bars of one output, largest first. In groups the weights of their kernels are summed. */
export function weightBars(weights: KernelWeights | undefined, output: number, grouping: Grouping): WeightBar[] {
  const kernels = weights?.kernels ?? [];
  const columns = Number(weights?.weights?.columns ?? 1);
  const values = weights?.weights?.values ?? [];
  const bars = new Map<string, WeightBar>();
  kernels.forEach((name, index) => {
    const value = Number(values[index * columns + output] ?? 0);
    const label = groupOf(name, weights?.groups?.[index] ?? '', grouping);
    const key = grouping === 'kernel' ? `${index}` : label;
    const bar = bars.get(key);
    if (bar) {
      bar.value += value;
      bar.count += 1;
      bar.title = `${bar.count} kernels`;
    } else {
      bars.set(key, { label, title: name, value, count: 1 });
    }
  });
  return [...bars.values()].sort((a, b) => b.value - a.value);
}

/** A Gabor filter: two widths in pixels, waves per pixel, angle. */
export interface GaborFilter {
  scaleZ: number;
  scaleY: number;
  frequency: number;
  angle: number;
}

/** Reads "feature 3: gabor(sigma_z=2, sigma_y=1, frequency=0.1, angle=0.5)"; nothing for other features. */
export function parseFilter(name: string): GaborFilter | undefined {
  const match = /gabor\(sigma_z=([^,]+), sigma_y=([^,]+), frequency=([^,]+), angle=([^)]+)\)/.exec(name);
  if (!match) return undefined;
  const [scaleZ = NaN, scaleY = NaN, frequency = NaN, angle = NaN] = match.slice(1).map(Number);
  return { scaleZ, scaleY, frequency, angle };
}

/** Its value between -1 and 1, at a pixel's row and column less those of the middle. */
export function filterValue({ scaleZ, scaleY, frequency, angle }: GaborFilter, z: number, y: number): number {
  const along = z * Math.cos(angle) + y * Math.sin(angle);
  const across = -z * Math.sin(angle) + y * Math.cos(angle);
  return Math.exp(-(along ** 2) / (2 * scaleZ ** 2) - across ** 2 / (2 * scaleY ** 2)) * Math.cos(2 * Math.PI * frequency * along);
}

/** Bars of the features that were chosen, of one output, largest first. */
export function featureBars(weights: FeatureWeights | undefined, output: number): WeightBar[] {
  const columns = Number(weights?.weights?.columns ?? 1);
  const values = weights?.weights?.values ?? [];
  return (weights?.features ?? [])
    .map((name, index) => ({ label: name, title: name, value: Number(values[index * columns + output] ?? 0), count: 1 }))
    .sort((a, b) => b.value - a.value);
}

/** How much single columns weigh over all outputs: those that kernels of their own see. */
export function columnImportance(weights: KernelWeights | undefined): Map<string, number> {
  const found = new Map<string, number>();
  const outputs = Number(weights?.weights?.columns ?? 1);
  const values = weights?.weights?.values ?? [];
  weights?.kernels?.forEach((name, kernel) => {
    const { columns } = parseKernelName(name);
    if (!columns) return;
    const total = values.slice(kernel * outputs, (kernel + 1) * outputs).reduce<number>((sum, value) => sum + Number(value), 0);
    found.set(columns, (found.get(columns) ?? 0) + total);
  });
  return found;
}

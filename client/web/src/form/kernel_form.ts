// One family of kernels as the form holds it, to and from its message.
import type { KernelScaling, KernelType } from '../api/schema.ts';
import type { KernelGrid } from '../api/types.ts';
import { textFromReal } from '../lib/numbers.ts';
import { listFromText, type Reader, withoutEmpty } from './reader.ts';

/** MEDIAN_SPACED is the API's MEDIAN_MULTIPLES with a range in the place of a list. */
export type Rule = 'LIST' | 'LOG_SPACED' | 'MEDIAN_MULTIPLES' | 'MEDIAN_SPACED';

export interface KernelForm {
  /** Of the form's list, so that a family keeps its inputs when one above it is removed. */
  key: number;
  type: string;
  rule: Rule;
  bandwidths: string;
  minBandwidth: string;
  maxBandwidth: string;
  count: string;
  degree: string;
  scale: string;
  offset: string;
  block: string;
  columns: string;
  name: string;
  group: string;
  perColumn: boolean;
  unitDiagonal: boolean;
  scaling: string;
}

export const KERNEL_TYPES = [
  { value: 'GAUSSIAN', text: 'Gaussian', formula: 'exp(−|x − z|² / 2b²)' },
  { value: 'LINEAR', text: 'Linear', formula: 'x′z' },
  { value: 'POLYNOMIAL', text: 'Polynomial', formula: '(scale · x′z + offset)^degree' },
  { value: 'LAPLACIAN', text: 'Laplacian', formula: 'exp(−|x − z|₁ / b)' },
  { value: 'EUCLIDEAN', text: 'Euclidean', formula: 'exp(−|x − z| / b)' },
  { value: 'CHI_SQUARE', text: 'Chi-square', formula: 'exp(−χ²(x, z) / b)' },
  { value: 'HELLINGER', text: 'Hellinger', formula: 'exp(−|√x − √z|² / 2b)' },
  { value: 'INTERSECTION', text: 'Intersection', formula: 'Σ min(x, z)' },
  { value: 'PRECOMPUTED', text: 'Precomputed', formula: 'the entries of a square block' },
  { value: 'DISTANCE', text: 'Distance', formula: 'exp(−d / b), d from a square block' },
];

let lastKey = 0;

export function newKernel(change: Partial<KernelForm> = {}): KernelForm {
  return {
    key: ++lastKey,
    type: 'GAUSSIAN',
    rule: 'MEDIAN_MULTIPLES',
    bandwidths: '',
    minBandwidth: '',
    maxBandwidth: '',
    count: '',
    degree: '',
    scale: '',
    offset: '',
    block: '',
    columns: '',
    name: '',
    group: '',
    perColumn: false,
    unitDiagonal: false,
    scaling: '',
    ...change,
  };
}

export function hasWidth(type: string): boolean {
  return !['LINEAR', 'POLYNOMIAL', 'PRECOMPUTED', 'INTERSECTION'].includes(type);
}

export function isSquare(type: string): boolean {
  return type === 'PRECOMPUTED' || type === 'DISTANCE';
}

export function isSpaced(rule: Rule): boolean {
  return rule === 'LOG_SPACED' || rule === 'MEDIAN_SPACED';
}

function widthsOf(kernel: KernelForm, path: string, reader: Reader): KernelGrid {
  if (!hasWidth(kernel.type)) return {};
  if (isSpaced(kernel.rule)) {
    return {
      rule: kernel.rule === 'LOG_SPACED' ? 'BANDWIDTH_RULE_LOG_SPACED' : 'BANDWIDTH_RULE_MEDIAN_MULTIPLES',
      minBandwidth: reader.real(`${path}.min_bandwidth`, kernel.minBandwidth),
      maxBandwidth: reader.real(`${path}.max_bandwidth`, kernel.maxBandwidth),
      count: reader.integer(`${path}.count`, kernel.count),
    };
  }
  const widths = reader.reals(`${path}.${widthField(kernel)}`, kernel.bandwidths);
  if (kernel.rule === 'MEDIAN_MULTIPLES') return { rule: 'BANDWIDTH_RULE_MEDIAN_MULTIPLES', bandwidths: widths };
  return widths?.length === 1 ? { bandwidth: widths[0] } : { bandwidths: widths };
}

/** A single width that is not a multiple has a field of its own. */
export function widthField(kernel: KernelForm): 'bandwidth' | 'bandwidths' {
  const several = kernel.bandwidths.split(/[\s,;]+/).filter(Boolean).length > 1;
  return kernel.rule === 'MEDIAN_MULTIPLES' || several ? 'bandwidths' : 'bandwidth';
}

export function kernelToMessage(kernel: KernelForm, path: string, reader: Reader): KernelGrid {
  const polynomial = kernel.type === 'POLYNOMIAL';
  const columns = listFromText(kernel.columns);
  const message: KernelGrid = {
    type: `KERNEL_TYPE_${kernel.type}` as KernelType,
    ...widthsOf(kernel, path, reader),
    degree: polynomial ? reader.integer(`${path}.degree`, kernel.degree) : undefined,
    scale: polynomial ? reader.real(`${path}.scale`, kernel.scale) : undefined,
    offset: polynomial ? reader.real(`${path}.offset`, kernel.offset) : undefined,
    block: kernel.block,
    name: kernel.name.trim(),
    group: kernel.group.trim(),
    columns: columns.length > 0 && !isSquare(kernel.type) ? columns : undefined,
    perColumn: kernel.perColumn && !isSquare(kernel.type),
    normalization: withoutEmpty({
      unitDiagonal: kernel.unitDiagonal,
      scaling: kernel.scaling ? (`KERNEL_SCALING_${kernel.scaling}` as KernelScaling) : undefined,
    }),
  };
  return withoutEmpty(message) ?? {};
}

export function kernelFromMessage(grid: KernelGrid): KernelForm {
  const type = (grid.type ?? '').replace('KERNEL_TYPE_', '');
  const given = (grid.rule ?? 'BANDWIDTH_RULE_LIST').replace('BANDWIDTH_RULE_', '').replace('UNSPECIFIED', 'LIST') as Rule;
  const rule = given === 'MEDIAN_MULTIPLES' && grid.count !== undefined ? 'MEDIAN_SPACED' : given;
  // Requests come from jobs and models; where one of them has no width, an earlier server has kept it and took 1.
  const widths = grid.bandwidths ?? (rule === 'LIST' && hasWidth(type) ? [grid.bandwidth ?? 1] : []);
  return newKernel({
    type,
    rule,
    bandwidths: widths.map(textFromReal).join(', '),
    minBandwidth: textFromReal(grid.minBandwidth),
    maxBandwidth: textFromReal(grid.maxBandwidth),
    count: grid.count === undefined ? '' : String(grid.count),
    degree: grid.degree === undefined ? '' : String(grid.degree),
    scale: textFromReal(grid.scale),
    offset: textFromReal(grid.offset),
    block: grid.block ?? '',
    columns: (grid.columns ?? []).join(', '),
    name: grid.name ?? '',
    group: grid.group ?? '',
    perColumn: grid.perColumn ?? false,
    unitDiagonal: grid.normalization?.unitDiagonal ?? false,
    scaling: (grid.normalization?.scaling ?? '').replace('KERNEL_SCALING_', ''),
  });
}

/** The kernels that a family makes; `columns`: of the data set. */
export function kernelCount(kernel: KernelForm, columns: number): number {
  const named = listFromText(kernel.columns).length || columns;
  const listed = kernel.bandwidths.split(/[\s,;]+/).filter(Boolean).length || 1;
  const widths = !hasWidth(kernel.type) ? 1 : isSpaced(kernel.rule) ? Number(kernel.count) || 0 : listed;
  return widths * (kernel.perColumn && !isSquare(kernel.type) ? named : 1);
}

export function kernelPaths(path: string): string[] {
  const fields = ['type', 'rule', 'bandwidth', 'bandwidths', 'min_bandwidth', 'max_bandwidth', 'count', 'degree', 'scale', 'offset', 'block', 'columns', 'per_column', 'normalization', 'name', 'group'];
  return fields.map((field) => `${path}.${field}`);
}

// Rows with a weight each in their groups: kernels of a model, and the rows of any table that says groups.
import type { ModelVersion, ModelTable } from '../api/model_types.ts';
import { formatInteger } from './format.ts';
import { kernelLabel } from './weights.ts';

export interface GroupRow {
  label: string;
  /** The full name. */
  title: string;
  value: number;
  norm?: number;
}

export interface RowGroup {
  label: string;
  /** The sum of those of its rows. */
  value: number;
  norm?: number;
  /** The largest first. */
  rows: GroupRow[];
}

export const isSelected = (row: GroupRow) => row.value !== 0;

/** "2 of 9 selected" */
export function selectedWords(rows: readonly GroupRow[]): string {
  return `${formatInteger(rows.filter(isSelected).length)} of ${formatInteger(rows.length)} selected`;
}

/** The groups, the largest sum first; `groups` names that of each row, an empty text being that of rows without one. */
export function rowGroups(rows: readonly GroupRow[], groups: readonly string[]): RowGroup[] {
  const found = new Map<string, RowGroup>();
  rows.forEach((row, index) => {
    const name = groups[index] ?? '';
    const group = found.get(name) ?? { label: name || 'without group', value: 0, rows: [] };
    group.value += row.value;
    if (row.norm !== undefined) group.norm = (group.norm ?? 0) + row.norm;
    group.rows.push(row);
    found.set(name, group);
  });
  const bySize = (a: { value: number }, b: { value: number }) => Math.abs(b.value) - Math.abs(a.value);
  for (const group of found.values()) group.rows.sort(bySize);
  return [...found.values()].sort(bySize);
}

/** The rows that are shown at first: all where they are few, else the largest of those that are selected. */
export function firstRows(group: RowGroup, total: number, most: number): GroupRow[] {
  return total <= most ? group.rows : group.rows.filter(isSelected).slice(0, most);
}

/** "3 more, 1 of them selected", "all 9, not selected" */
export function restWords(rest: readonly GroupRow[], { rows }: RowGroup): string {
  const selected = rest.filter(isSelected).length;
  const count = formatInteger(rest.length);
  return `${rest.length === rows.length ? `all ${count}` : `${count} more`}, ${selected > 0 ? `${formatInteger(selected)} of them selected` : 'not selected'}`;
}

const columnOf = (table: ModelTable, column: number): number[] => {
  const columns = table.columns?.length ?? 0;
  const values = table.values?.values ?? [];
  return (table.rows ?? []).map((_, row) => Number(values[row * columns + column] ?? 0));
};

/** The rows of one column in their groups. */
export function tableGroups(table: ModelTable, column: number): RowGroup[] {
  const values = columnOf(table, column);
  const rows = (table.rows ?? []).map((label, row): GroupRow => ({ label, title: label, value: values[row] ?? 0 }));
  return rowGroups(rows, table.rowGroups ?? []);
}

/** Whether the table tells the norms of the functions of all kernels of the model. */
function hasNorms(table: ModelTable, model: ModelVersion): boolean {
  return table.rowAxis === 'kernels' && table.rows?.length === model.kernelWeights?.kernels?.length && (table.columns ?? []).includes('norm');
}

/** Which output a table is of: where outputs are learnt apart, its number, from 1, stands behind a dot of the name. */
const outputOf = (table: ModelTable) => /\.(\d+)$/.exec(table.name ?? '')?.[1];

/** The kernels of one output in their groups, with norms where a table tells them. */
export function kernelGroups(model: ModelVersion, output: number): RowGroup[] {
  const { kernels = [], weights, groups = [] } = model.kernelWeights ?? {};
  const columns = Number(weights?.columns ?? 1);
  const table = (model.tables ?? []).find((each) => hasNorms(each, model) && [undefined, String(output + 1)].includes(outputOf(each)));
  const norms = table && columnOf(table, table.columns?.indexOf('norm') ?? 0);
  const rows = kernels.map((name, row): GroupRow => {
    const value = Number(weights?.values?.[row * columns + output] ?? 0);
    return { label: kernelLabel(name), title: name, value, ...(norms && { norm: norms[row] ?? 0 }) };
  });
  return rowGroups(rows, groups);
}

/** Whether the picture of kernels in groups says all that the table does. */
export function isToldByGroups(table: ModelTable, model: ModelVersion): boolean {
  const groups = model.kernelWeights?.groups ?? [];
  if (groups.length === 0 || !(model.tables ?? []).some((each) => hasNorms(each, model))) return false;
  const ofGroups = table.rowAxis === 'groups' && (table.columns ?? []).includes('norm') && table.rows?.length === new Set(groups).size;
  return ofGroups || hasNorms(table, model);
}

// What a learner tells beside the function, as the pages draw it without knowing the learner.
import type { ModelVersion, ModelTable } from '../api/model_types.ts';
import { formatInteger } from './format.ts';
import { isToldByGroups } from './groups.ts';
import type { Point } from './held_out.ts';

export const PATH_TABLE = 'path';
// Of these the panels of weights and of the path show more than a table says.
const WITH_A_PANEL = ['kernel_weights', 'feature_weights', PATH_TABLE];

/** The tables that no other panel shows. */
export function furtherTables(model: ModelVersion): ModelTable[] {
  return (model.tables ?? []).filter((table) => !WITH_A_PANEL.includes(table.name ?? '') && (table.rows?.length ?? 0) > 0 && !isToldByGroups(table, model));
}

export interface TableRow {
  label: string;
  /** One of each column. */
  values: number[];
}

export function tableRows(table: ModelTable): TableRow[] {
  const columns = table.columns?.length ?? 0;
  const values = (table.values?.values ?? []).map(Number);
  return (table.rows ?? []).map((label, row) => ({ label, values: values.slice(row * columns, (row + 1) * columns) }));
}

/** Bars of one column, the largest first, whatever their sign. */
export function tableBars(table: ModelTable, column: number): { label: string; title: string; value: number }[] {
  return tableRows(table)
    .map(({ label, values }) => ({ label, title: label, value: values[column] ?? 0 }))
    .sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
}

const isNumber = (name: string) => name.trim() !== '' && Number.isFinite(Number(name));

/** The values of one column over the names of the rows, where these are numbers, else over their places from 1. */
export function curvePoints(table: ModelTable, column: number): Point[] {
  const byName = (table.rows ?? []).every(isNumber);
  return tableRows(table).map(({ label, values }, row): Point => [byName ? Number(label) : row + 1, values[column] ?? 0]);
}

/** The largest absolute value: the full colour of a heat map. */
export function largestValue(rows: readonly TableRow[]): number {
  return rows.reduce((largest, { values }) => values.reduce((most, value) => Math.max(most, Math.abs(value)), largest), 0);
}

/** "12 variables, 3 tasks, in cm". */
export function sizeWords({ rows, columns, rowAxis, columnAxis, unit }: ModelTable): string {
  const parts = [`${formatInteger(rows?.length)} ${rowAxis || 'rows'}`];
  if ((columns?.length ?? 0) > 1) parts.push(`${formatInteger(columns?.length)} ${columnAxis || 'columns'}`);
  if (unit) parts.push(`in ${unit}`);
  return parts.join(', ');
}

// What models said of rows that they were not trained on, as the pages draw it.
import type { ClassCurve, HeldOut } from '../api/model_types.ts';
import { formatInteger } from './format.ts';

export type Point = [number, number];

export interface ConfusionRow {
  label: string;
  cells: { count: number; /** Of the row: how much of the class was predicted so. */ share: number }[];
}

export function confusionRows(heldOut: HeldOut | undefined): ConfusionRow[] {
  const classes = heldOut?.confusion?.classes ?? [];
  const counts = (heldOut?.confusion?.counts ?? []).map(Number);
  return classes.map((label, row) => {
    const own = counts.slice(row * classes.length, (row + 1) * classes.length);
    const sum = own.reduce((total, count) => total + count, 0);
    return { label, cells: own.map((count) => ({ count, share: sum > 0 ? count / sum : 0 })) };
  });
}

const reals = (values: readonly (number | string)[] | undefined) => (values ?? []).map(Number);

/** False over true positive rates, from (0, 0). */
export function rocPoints(curve: ClassCurve): Point[] {
  const recalls = reals(curve.truePositiveRates);
  return [[0, 0], ...reals(curve.falsePositiveRates).map((rate, index): Point => [rate, recalls[index] ?? 0])];
}

/** Recall and precision, from recall 0 with the precision of the highest threshold. */
export function precisionRecallPoints(curve: ClassCurve): Point[] {
  const precisions = reals(curve.precisions);
  const points = reals(curve.truePositiveRates).map((recall, index): Point => [recall, precisions[index] ?? 0]);
  return points.length > 0 ? [[0, precisions[0] ?? 0], ...points] : [];
}

/** Predicted value and residual of each row that was kept. */
export function residualPoints(heldOut: HeldOut | undefined): Point[] {
  const actual = reals(heldOut?.residuals?.actual);
  return reals(heldOut?.residuals?.predicted).map((predicted, index) => [predicted, (actual[index] ?? 0) - predicted]);
}

/** The middle of each interval of residuals, and how many are in it. */
export function residualHistogram(heldOut: HeldOut | undefined): Point[] {
  const bounds = reals(heldOut?.residuals?.bounds);
  return reals(heldOut?.residuals?.counts).map((count, index) => [((bounds[index] ?? 0) + (bounds[index + 1] ?? 0)) / 2, count]);
}

/** "4,601 rows, each predicted by a model that had not seen it (5 folds)". */
export function heldOutWords(heldOut: HeldOut): string {
  const rows = `${formatInteger(heldOut.rows)} rows`;
  const folds = Number(heldOut.folds ?? 0);
  const who = folds > 0 ? `${rows}, each predicted by a model that had not seen it (${formatInteger(folds)} folds)` : `${rows} that were held out`;
  const sampled = Number(heldOut.sampledRows ?? 0);
  return sampled < Number(heldOut.rows ?? 0) ? `${who}; curves and residuals of ${formatInteger(sampled)} of them` : who;
}

/** Values that go over more than a decade stand on a logarithmic axis. */
export function isLogarithmic(values: readonly number[]): boolean {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return low > 0 && high / low > 10;
}

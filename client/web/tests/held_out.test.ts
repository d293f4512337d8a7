import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { HeldOut } from '../src/api/model_types.ts';
import { confusionRows, heldOutWords, isLogarithmic, precisionRecallPoints, residualHistogram, residualPoints, rocPoints } from '../src/lib/held_out.ts';
import { decadeTicks, rangeOf, roundTicks, shortRuns } from '../src/lib/ticks.ts';

test('a confusion matrix has a row per true class, with shares of it', () => {
  const rows = confusionRows({ confusion: { classes: ['a', 'b'], counts: ['3', '1', '0', '0'] } });
  assert.deepEqual(rows, [
    { label: 'a', cells: [{ count: 3, share: 0.75 }, { count: 1, share: 0.25 }] },
    { label: 'b', cells: [{ count: 0, share: 0 }, { count: 0, share: 0 }] },
  ]);
  assert.deepEqual(confusionRows(undefined), []);
});

test('curves begin where nothing is taken for the class', () => {
  const curve = { truePositiveRates: [0.5, 1], falsePositiveRates: [0, 1], precisions: [1, 0.5] };
  assert.deepEqual(rocPoints(curve), [[0, 0], [0, 0.5], [1, 1]]);
  assert.deepEqual(precisionRecallPoints(curve), [[0, 1], [0.5, 1], [1, 0.5]]);
});

test('residuals are actual less predicted, and have the middles of their intervals', () => {
  const heldOut: HeldOut = { residuals: { predicted: [1, 2], actual: [1.5, 1], bounds: [-3, -1, 1, 3], counts: ['0', '2', '0'] } };
  assert.deepEqual(residualPoints(heldOut), [[1, 0.5], [2, -1]]);
  assert.deepEqual(residualHistogram(heldOut), [[-2, 0], [0, 2], [2, 0]]);
});

test('words say which rows they are', () => {
  assert.equal(heldOutWords({ rows: '1150', sampledRows: '1150' }), '1,150 rows that were held out');
  assert.match(heldOutWords({ rows: '100', folds: '5', sampledRows: '50' }), /^100 rows, each predicted .* \(5 folds\); curves and residuals of 50 of them$/);
});

test('values over more than a decade have a logarithmic axis', () => {
  assert.equal(isLogarithmic([0.1, 10]), true);
  assert.equal(isLogarithmic([0, 10]), false);
  assert.equal(isLogarithmic([1, 2, 3]), false);
});

test('ticks are round and within the range', () => {
  assert.deepEqual(roundTicks(0, 1, 5), [0, 0.2, 0.4, 0.6, 0.8, 1]);
  assert.deepEqual(roundTicks(-3, 7, 5), [-2, 0, 2, 4, 6]);
  assert.deepEqual(roundTicks(2, 2, 5), [2]);
  assert.deepEqual(decadeTicks(0.009, 1100, 10), [0.01, 0.1, 1, 10, 100, 1000]);
  assert.deepEqual(decadeTicks(1e-8, 1e8, 5).length <= 5, true);
  assert.deepEqual(rangeOf([1, 1]), [0.9, 1.1]);
  assert.deepEqual(rangeOf([]), [0, 1]);
});

test('runs of few points are found, whatever is around them', () => {
  assert.deepEqual(shortRuns([1, null, 2, 3, null, 4, 5, 6], 2), [0, 2, 3]);
  assert.deepEqual(shortRuns([], 2), []);
  assert.deepEqual(shortRuns([null, undefined, 7], 1), [2]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelVersion, ModelTable } from '../src/api/model_types.ts';
import { curvePoints, furtherTables, largestValue, sizeWords, tableBars, tableRows } from '../src/lib/model_tables.ts';

const TABLE: ModelTable = {
  name: 'ranking',
  title: 'variables by their weight',
  rowAxis: 'variables',
  columnAxis: 'tasks',
  rows: ['x1', 'x2', 'x3'],
  columns: ['ann', 'bob'],
  values: { rows: '3', columns: '2', values: [0.5, 1, -2, 0, 1, 3] },
  unit: 'cm',
  drawing: 'TABLE_DRAWING_BARS',
};

test('the rows of a table have a value for each column', () => {
  assert.deepEqual(tableRows(TABLE), [
    { label: 'x1', values: [0.5, 1] },
    { label: 'x2', values: [-2, 0] },
    { label: 'x3', values: [1, 3] },
  ]);
  assert.deepEqual(tableRows({}), []);
  assert.equal(largestValue(tableRows(TABLE)), 3);
  assert.equal(largestValue([]), 0);
});

test('bars are those of one column, the largest first, and keep their sign', () => {
  assert.deepEqual(tableBars(TABLE, 0).map(({ label, value }) => [label, value]), [['x2', -2], ['x3', 1], ['x1', 0.5]]);
  assert.deepEqual(tableBars(TABLE, 1).map(({ value }) => value), [3, 1, 0]);
});

test('curves go over the numbers that the rows are named by, or over their places', () => {
  assert.deepEqual(curvePoints(TABLE, 1), [[1, 1], [2, 0], [3, 3]]);
  assert.deepEqual(curvePoints({ ...TABLE, rows: ['0.1', '1', '10'] }, 0), [[0.1, 0.5], [1, -2], [10, 1]]);
});

test('words say what rows and columns are', () => {
  assert.equal(sizeWords(TABLE), '3 variables, 2 tasks, in cm');
  assert.equal(sizeWords({ rows: ['a'], columns: ['b'] }), '1 rows');
});

test('tables that have a panel of their own, or no rows, are not drawn again', () => {
  const tables = [{ name: 'kernel_weights', rows: ['linear'] }, { name: 'empty' }, TABLE];
  assert.deepEqual(furtherTables({ name: 'models/a/versions/1', tables } as ModelVersion), [TABLE]);
  assert.deepEqual(furtherTables({ name: 'models/a/versions/1' } as ModelVersion), []);
});

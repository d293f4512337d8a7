import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelTable } from '../src/api/model_types.ts';
import { gridOf } from '../src/lib/grids.ts';
import { tableRows } from '../src/lib/model_tables.ts';

const ofRows = (rows: string[]): ModelTable => ({
  name: 'blocks',
  rows,
  columns: ['norm', 'share'],
  values: { rows: String(rows.length), columns: '2', values: rows.flatMap((_, row) => [row, 10 + row]) },
});

test('rows that are the cells of a grid become one', () => {
  const grid = gridOf(ofRows(['Fz_t1', 'Fz_t2', 'Cz_t2', 'Cz_t1']), 1);
  assert.deepEqual(grid && tableRows(grid), [
    { label: 'Fz', values: [10, 11] },
    { label: 'Cz', values: [13, 12] },
  ]);
  assert.deepEqual(grid?.columns, ['t1', 't2']);
  const kernels = ['a_1_1', 'a_1_2', 'a_2_1', 'a_2_2'].map((name) => `linear(columns=${name})`);
  assert.deepEqual(gridOf(ofRows(kernels), 0)?.rows, ['a_1', 'a_2']);
  const indexed = gridOf(ofRows(['a_b[1]', 'a_b[2]', 'c[1]', 'c[2]']), 0);
  assert.deepEqual([indexed?.rows, indexed?.columns], [['a_b', 'c'], ['1', '2']]);
});

test('others are none', () => {
  for (const rows of [[], ['a', 'b', 'c', 'd'], ['a_1', 'a_2', 'a_3', 'a_4'], ['a_1', 'a_2', 'b_1'], ['a_1', 'a_1', 'b_1', 'b_2'], ['_1', '_2', 'a_1', 'a_2']]) {
    assert.equal(gridOf(ofRows(rows), 0), undefined, rows.join());
  }
});

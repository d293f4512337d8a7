import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Dataset } from '../src/api/dataset_types.ts';
import type { ColumnType } from '../src/api/schema.ts';
import { findingsOf, guessKind } from '../src/lib/datasets.ts';

function withTarget(type: ColumnType, values: number): Dataset {
  const valueCounts = Array.from({ length: values }, (_, index) => ({ value: String(index), count: '1' }));
  return { name: 'datasets/a', roleColumns: [{ name: 'y', role: 'COLUMN_ROLE_TARGET', type, valueCounts }] };
}

test('a number with many values is predicted as a number', () => {
  assert.equal(guessKind(withTarget('COLUMN_TYPE_NUMERIC', 2), ''), 'CLASSIFICATION');
  assert.equal(guessKind(withTarget('COLUMN_TYPE_NUMERIC', 300), ''), 'REGRESSION');
  assert.equal(guessKind(withTarget('COLUMN_TYPE_NUMERIC', 0), 'y'), 'REGRESSION');
  assert.equal(guessKind(withTarget('COLUMN_TYPE_CATEGORICAL', 300), 'y'), 'CLASSIFICATION');
});

test('what may be wrong with data, the worst first', () => {
  const findings = findingsOf({
    numMissingCells: '7',
    numMissingColumns: '1',
    missing: [{ column: { name: 'age' }, count: '7' }],
    numDuplicateRows: '1',
    numLeakingColumns: '1',
    leakingColumns: [{ column: { name: 'copy' }, target: { name: 'y' } }],
    numIdentifierColumns: '1',
    identifierColumns: [{ name: 'id' }],
    numTextColumns: '2',
    textColumns: [{ column: { name: 'day' }, holds: 'dates' }, { column: { name: 'price' }, holds: 'numbers with a comma' }],
    numConstantColumns: '8',
    constantColumns: [1, 2, 3, 4, 5, 6, 7, 8].map((position) => ({ block: 'x', position })),
  });
  assert.deepEqual(findings.map(({ tone, title }) => [tone, title]), [
    ['bad', '1 column gives the target away'],
    ['warn', '7 cells are missing'],
    ['warn', '1 row repeats an earlier one'],
    ['warn', '1 column looks like an identifier of the rows'],
    ['warn', '2 columns are read as texts'],
    ['warn', '8 columns are constant'],
  ]);
  assert.equal(findings[0]?.text, 'copy tells y');
  assert.equal(findings[4]?.text, 'day holds dates, price holds numbers with a comma. Each value is a category of its own.');
  assert.equal(findings[5]?.text, 'x column 1, x column 2, x column 3, x column 4, x column 5 and 3 more');
  assert.deepEqual(findingsOf({}).map((finding) => finding.tone), ['good']);
});

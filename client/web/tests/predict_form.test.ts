import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Dataset } from '../src/api/dataset_types.ts';
import { inputsFromDatasets, inputsFromModel, rowToColumns, valuesFromCsv } from '../src/form/predict_form.ts';
import { splitCsvLine } from '../src/lib/csv.ts';
import { guessTarget, idFromFile, looksLikeSvmlight, previewOf, targetOf, uploadHeader, withTarget } from '../src/form/upload_form.ts';

const datasets = JSON.parse(readFileSync('tests/fixtures/datasets.json', 'utf8')) as Dataset[];
const flowers = datasets[1]!;
const inputs = inputsFromDatasets([flowers], { name: 'models/a' })!;

test('an input for each column, with its mean or most frequent category', () => {
  assert.deepEqual(inputs.map(({ name, typical }) => [name, typical]), [['width', '0.9451'], ['height', '-1.056'], ['colour', 'red'], ['noise', '-0.04131']]);
  assert.deepEqual(inputs[2]?.categories, ['red', 'blue', 'green']);
});

test('no form without names of columns', () => {
  const sparse = { name: 'datasets/s', blocks: [{ name: 'x', sparse: true, numColumns: '3' }] };
  assert.equal(inputsFromDatasets([sparse], { name: 'models/a' }), undefined);
  const preprocessing = { blocks: [{ columns: [{ name: 'a', offset: 2.5 }, { name: 'b', categorical: true, categories: ['x', 'y'] }] }] };
  assert.deepEqual(inputsFromModel({ name: 'models/a', preprocessing }).map(({ name, typical }) => [name, typical]), [['a', '2.5'], ['b', 'x']]);
});

test('a row as typed columns', () => {
  const { columns, errors } = rowToColumns(inputs, { width: '1e1', height: '', colour: 'blue', noise: 'loud' });
  assert.deepEqual(columns.slice(0, 3), [
    { name: 'width', numbers: { values: [10] } },
    { name: 'height', numbers: { values: ['NaN'] } },
    { name: 'colour', texts: { values: ['blue'] } },
  ]);
  assert.deepEqual([...errors], [['noise', '"loud" is not a number']]);
});

test('a pasted row, with names in another order or without', () => {
  assert.deepEqual(valuesFromCsv('noise,kind,width\n7,setosa,1\n', inputs), { noise: '7', width: '1' });
  assert.deepEqual(valuesFromCsv('1;2;red;3', inputs), { width: '1', height: '2', colour: 'red', noise: '3' });
  assert.deepEqual(valuesFromCsv('1|2,5|red|3', inputs), { width: '1', height: '2,5', colour: 'red', noise: '3' });
  assert.equal(valuesFromCsv('1,2', inputs), undefined);
  assert.equal(valuesFromCsv('', inputs), undefined);
  assert.deepEqual(splitCsvLine('a,"b, ""c""",d'), ['a', 'b, "c"', 'd']);
});

test('what a file shows of itself', () => {
  assert.equal(idFromFile('Mail data (2).csv.gz'), 'mail-data-2');
  assert.equal(idFromFile('_.csv'), '');
  assert.equal(guessTarget(['age', 'Label', 'sex']), 'Label');
  assert.equal(guessTarget(['age', 'sex']), 'sex');
  assert.ok(looksLikeSvmlight('+1 3:0.5 7:1\n-1 2:1 # x\n'));
  assert.ok(!looksLikeSvmlight('a,b\n1,2\n'));
  assert.deepEqual(previewOf('1\t2\n3\t4\n', false), { delimiter: '\t', names: ['c1', 'c2'], rows: [['1', '2'], ['3', '4']] });
});

test('one column is to be predicted, whatever the others are', () => {
  const roles = { a: 'target', b: 'weight', c: 'target' } as const;
  assert.equal(targetOf(roles), 'a');
  assert.deepEqual(withTarget(roles, 'b'), { b: 'target' });
  assert.deepEqual(withTarget(roles, ''), { b: 'weight' });
  assert.equal(targetOf({}), '');
});

test('the header of an upload', () => {
  const form = { id: 'mail', format: 'csv' as const, delimiter: ';', hasHeader: true, target: '', roles: { row: 'ignored', age: 'feature', user: 'group', label: 'target' } as const, allowMissing: true };
  assert.deepEqual(uploadHeader(form, { name: 'mail.csv', size: 12 }), {
    datasetId: 'mail',
    displayName: 'mail.csv',
    totalBytes: '12',
    parts: [{ csv: { delimiter: ';', roles: { row: 'COLUMN_ROLE_IGNORED', user: 'COLUMN_ROLE_GROUP', label: 'COLUMN_ROLE_TARGET' }, allowMissing: true } }],
  });
  assert.deepEqual(uploadHeader({ ...form, id: '', format: 'svmlight' }, { name: 'a', size: 1 }).parts, [{ svmlight: {} }]);
});

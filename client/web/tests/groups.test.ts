import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelVersion, ModelTable } from '../src/api/model_types.ts';
import { firstRows, isToldByGroups, kernelGroups, restWords, rowGroups, selectedWords, tableGroups } from '../src/lib/groups.ts';
import { furtherTables } from '../src/lib/model_tables.ts';

const KERNELS = ['linear', 'wide', 'narrow', 'tiny', 'huge'];
const GROUPS = ['images', 'images', '', 'words', 'images'];

/** As a learner without a name here tells it: of `output` alone, or of all together. */
function normsTable(output?: number): ModelTable {
  const values = KERNELS.flatMap((_, kernel) => [9, kernel + (output ?? 0)]);
  return { name: output ? `told.${output}` : 'told', rowAxis: 'kernels', rows: KERNELS.map((_, k) => `gaussian ${k + 1}`), columns: ['share', 'norm'], values: { values } };
}

const GROUPS_TABLE: ModelTable = { name: 'of_groups', rowAxis: 'groups', rows: ['images', 'without group', 'words'], columns: ['norm'], values: { values: [1, 2, 3] } };

function model(tables: ModelTable[]): ModelVersion {
  const values = [0.2, 0.1, 0.5, 0, 0, 0, 0.3, 0.9, 0, 0];
  return { name: 'models/m/versions/1', kernelWeights: { kernels: KERNELS, groups: GROUPS, weights: { rows: '5', columns: '2', values } }, tables } as ModelVersion;
}

test('kernels stand in their groups, both the largest first', () => {
  const groups = kernelGroups(model([]), 0);
  assert.deepEqual(groups.map(({ label, value, norm }) => [label, value, norm]), [['images', 0.7, undefined], ['words', 0.3, undefined], ['without group', 0, undefined]]);
  assert.deepEqual(groups[0]?.rows.map(({ title, value }) => [title, value]), [['wide', 0.5], ['linear', 0.2], ['huge', 0]]);
  assert.equal(groups[0]?.rows[1]?.label, 'all columns · linear');
  assert.equal(selectedWords(groups[0]?.rows ?? []), '2 of 3 selected');
  assert.deepEqual(kernelGroups(model([]), 1).map(({ label }) => label), ['words', 'images', 'without group']);
  assert.deepEqual(kernelGroups({ name: 'none' } as ModelVersion, 0), []);
});

test('norms are those that a table tells of all kernels, for all outputs or for this one', () => {
  const shared = kernelGroups(model([normsTable()]), 1);
  assert.deepEqual(shared.map(({ label, norm }) => [label, norm]), [['words', 3], ['images', 5], ['without group', 2]]);
  const own = kernelGroups(model([normsTable(1), normsTable(2)]), 1);
  assert.deepEqual(own.map(({ norm }) => norm), [5, 11, 4]);
  assert.deepEqual(kernelGroups(model([{ ...normsTable(), rows: ['one'] }]), 0).map(({ norm }) => norm), [undefined, undefined, undefined]);
});

test('tables that the picture of the groups says are not shown again', () => {
  const other: ModelTable = { ...GROUPS_TABLE, name: 'other', columns: ['size'] };
  const whole = model([GROUPS_TABLE, normsTable(), other]);
  assert.deepEqual(furtherTables(whole), [other]);
  assert.equal(isToldByGroups(GROUPS_TABLE, model([GROUPS_TABLE])), false);
  const alone = { ...whole, kernelWeights: { kernels: KERNELS } } as ModelVersion;
  assert.deepEqual(furtherTables(alone), [GROUPS_TABLE, normsTable(), other]);
});

test('of many rows the selected ones are shown, and the rest is counted', () => {
  const values = [0, 3, 0, 1, 2];
  const [group] = rowGroups(values.map((value) => ({ label: `${value}`, title: `${value}`, value })), ['a', 'a', 'a', 'a', 'a']);
  assert.ok(group);
  assert.equal(firstRows(group, 5, 5).length, 5);
  assert.deepEqual(firstRows(group, 63, 5).map(({ value }) => value), [3, 2, 1]);
  assert.deepEqual(firstRows(group, 63, 2).map(({ value }) => value), [3, 2]);
  assert.equal(restWords(group.rows.slice(2), group), '3 more, 1 of them selected');
  assert.equal(restWords(group.rows.slice(3), group), '2 more, not selected');
  assert.equal(restWords(group.rows, group), 'all 5, 3 of them selected');
});

test('rows of any table stand in the groups that it says', () => {
  const table: ModelTable = { rows: ['x', 'y'], columns: ['a', 'b'], rowGroups: ['first', 'second'], values: { values: [1, -2, 3, 4] } };
  assert.deepEqual(tableGroups(table, 1).map(({ label, value }) => [label, value]), [['second', 4], ['first', -2]]);
  assert.deepEqual(tableGroups({}, 0), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelVersion } from '../src/api/model_types.ts';
import { choiceOf, choicesOfRow, choicesOfRows } from '../src/lib/task_choices.ts';

const model = { name: 'models/a/versions/1', tasks: { column: 'subject', names: ['ann', 'mean'] } } as ModelVersion;

test('a row is of a task, or has the mean over all', () => {
  const choices = choicesOfRow(model);
  assert.deepEqual(choices.map(({ choice }) => choice), [{ task: 'ann' }, { task: 'mean' }, { taskRule: 'TASK_RULE_MEAN' }]);
  assert.equal(new Set(choices.map(({ value }) => value)).size, 3);
  assert.deepEqual(choiceOf(choices, choices[1]?.value ?? ''), { task: 'mean' });
});

test('the rows of a data set say their tasks unless something else is chosen', () => {
  const choices = choicesOfRows(model);
  assert.deepEqual(choices.map(({ choice }) => choice), [
    {}, { taskRule: 'TASK_RULE_MEAN_IF_UNKNOWN' }, { taskRule: 'TASK_RULE_MEAN' }, { task: 'ann' }, { task: 'mean' },
  ]);
  assert.deepEqual(choiceOf(choices, ''), {});
});

test('models of a single task have no choice', () => {
  const single = { name: 'models/b/versions/1' } as ModelVersion;
  assert.deepEqual(choicesOfRow(single), []);
  assert.deepEqual(choicesOfRows(single), []);
});

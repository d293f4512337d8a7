import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AliasChange, ModelVersion } from '../src/api/model_types.ts';
import { deletionOf, deletionsFor, jobDeletionWords, keptWords } from '../src/lib/deletion.ts';
import { canRollBack, moveWords } from '../src/lib/models.ts';

function version(number: number, aliases: string[] = []): ModelVersion {
  return {
    name: `models/spam/versions/${number}`,
    metrics: [{ name: 'held_out.accuracy', value: 0.9 }],
    sizeBytes: '2048',
    ...(aliases.length > 0 ? { aliases: aliases.map((alias) => `models/spam/aliases/${alias}`) } : {}),
  };
}

test('one version in the middle takes nothing else along', () => {
  const versions = [version(3), version(2), version(1)];
  assert.deepEqual(deletionOf(version(2), versions, false), {
    name: 'models/spam/versions/2',
    going: ['version 2: 90.00 % accuracy, 2 KiB'],
    blocking: [],
    newest: undefined,
    last: false,
  });
});

test('without its newest version the name means the one before', () => {
  assert.equal(deletionOf(version(7), [version(7), version(4), version(5)], false).newest, 5);
});

test('a whole model names every version, and every alias that stands in the way', () => {
  const versions = [version(2, ['live', 'next']), version(1, ['old'])];
  const deletion = deletionOf(version(1), versions, true);
  assert.equal(deletion.name, 'models/spam');
  assert.equal(deletion.going.length, 2);
  assert.deepEqual(deletion.blocking, ['@live points to version 2', '@next points to version 2', '@old points to version 1']);
  assert.equal(deletion.newest, undefined);
  assert.equal(deletion.last, true);
});

test('the only version is the last, and one without metrics has its size alone', () => {
  const only: ModelVersion = { name: 'models/a/versions/1', sizeBytes: '10' };
  const deletion = deletionOf(only, [only], false);
  assert.deepEqual([deletion.last, deletion.going], [true, ['version 1: 10 B']]);
});

test('moves of an alias in words', () => {
  const at = (number: number) => `models/spam/versions/${number}`;
  const moves: AliasChange[] = [{ to: at(1) }, { from: at(1), to: at(2) }, { from: at(2), to: at(1), rollback: true }, { from: at(1) }];
  assert.deepEqual(moves.map(moveWords), ['set to version 1', 'version 1 → version 2', 'version 2 → version 1, rolled back', 'removed from version 1']);
  assert.deepEqual(moves.map((move) => canRollBack([move])), [false, true, true, true]);
  assert.equal(canRollBack([]), false);
});

test('an answer for an earlier selection is none for this one', () => {
  const [spam, ham] = [version(1), { ...version(1), name: 'models/ham/versions/1' }];
  const both = [spam, ham].map((model) => deletionOf(model, [model], true));
  assert.deepEqual(deletionsFor([spam, ham], both), both);
  assert.equal(deletionsFor([spam], both), undefined);
  assert.equal(deletionsFor([spam], undefined), undefined);
});

test('the deletion of a job names what goes and what stays', () => {
  const training = { name: 'jobs/a', request: {}, lastSequence: '1200', attempts: [{ number: 1 }], labels: { a: '', b: '' }, model: 'models/spam/versions/3' };
  assert.equal(jobDeletionWords(training), 'the request, 1,200 events, 1 attempt, 2 labels');
  assert.equal(keptWords(training), 'Its model spam · version 3 and its data stay.');
  assert.equal(jobDeletionWords({ name: 'jobs/b', evaluation: {} }), 'the request, the metrics');
  assert.match(keptWords({ name: 'jobs/b', prediction: { dataset: 'datasets/told' } }), /^The data set told /);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelVersion } from '../src/api/model_types.ts';
import { comparedFromQuery, compareAddress, filterFromQuery, learnersOf, listed, matchesModel, queryFromFilter } from '../src/lib/model_list.ts';

function model(name: string, learner: string, accuracy: number | undefined, gap: number, created: string): ModelVersion {
  return {
    name: `models/${name}/versions/2`,
    learner,
    createTime: created,
    labels: { team: 'red' },
    aliases: [`models/${name}/aliases/live`],
    ...(accuracy === undefined ? {} : { metrics: [{ name: 'held_out.accuracy', value: accuracy }] }),
    certificate: { kind: 'CERTIFICATE_KIND_GAP', accuracy: gap },
    lineage: { request: { data: [{ dataset: 'datasets/mail' }] } },
  } as ModelVersion;
}

const models = [
  model('b', 'svm', 0.9, 1e-4, '2026-01-01T00:00:00Z'),
  model('a', 'lp_mkl', undefined, 1e-3, '2026-01-03T00:00:00Z'),
  model('c', 'svm', 0.95, 1e-5, '2026-01-02T00:00:00Z'),
];
const names = (found: ModelVersion[]) => found.map(({ name }) => name.split('/')[1]).join('');
const all = { text: '', learner: '', order: 'name', descending: false } as const;

test('every word must occur in what is known of a model', () => {
  for (const text of ['b', 'svm mail', '@live', 'team=red', '']) assert.equal(matchesModel(models[0] as ModelVersion, text), true, text);
  assert.equal(matchesModel(models[0] as ModelVersion, 'svm lp_mkl'), false);
  const named = { ...models[0], about: { displayName: 'Junk filter', labels: { stage: 'test' } } } as ModelVersion;
  assert.equal(matchesModel(named, 'junk stage=test team=red'), true);
});

test('models are sorted by every column, and what has no value comes last', () => {
  assert.equal(names(listed(models, all)), 'abc');
  assert.equal(names(listed(models, { ...all, descending: true })), 'cba');
  assert.equal(names(listed(models, { ...all, order: 'quality' })), 'bca');
  assert.equal(names(listed(models, { ...all, order: 'quality', descending: true })), 'cba');
  assert.equal(names(listed(models, { ...all, order: 'gap' })), 'cba');
  assert.equal(names(listed(models, { ...all, order: 'created', descending: true })), 'acb');
});

test('models are filtered by learner', () => {
  assert.deepEqual(learnersOf(models), ['lp_mkl', 'svm']);
  assert.equal(names(listed(models, { ...all, learner: 'svm' })), 'bc');
});

test('the address keeps what was chosen', () => {
  const filter = { text: 'mail live', learner: 'svm', order: 'gap', descending: true } as const;
  assert.deepEqual(filterFromQuery(new URLSearchParams(queryFromFilter(filter))), filter);
  assert.equal(queryFromFilter(all), '');
  assert.deepEqual(filterFromQuery(new URLSearchParams('sort=nonsense')), all);
});

test('a comparison has up to six models, each once, old addresses too', () => {
  const address = compareAddress(['models/a/versions/1', 'models/b/versions/2']);
  assert.deepEqual(comparedFromQuery(new URLSearchParams(address.split('?')[1])), ['models/a/versions/1', 'models/b/versions/2']);
  assert.deepEqual(comparedFromQuery(new URLSearchParams('a=models/a&b=models/a')), ['models/a']);
  assert.equal(comparedFromQuery(new URLSearchParams(Array.from({ length: 9 }, (_, index) => ['m', `models/${index}`]))).length, 6);
});

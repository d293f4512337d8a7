import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accuracyWords, certificateWords, headlineMetrics, mainMetric, metricSource, pathOf, plainMetrics, taskMetrics, tasksText, validationMetrics, warningsOf } from '../src/lib/models.ts';
import type { Metric, ModelVersion } from '../src/api/model_types.ts';

const rank: Metric = { name: 'low_rank.joint_rank', value: 312 };

function modelWith(metrics: Metric[]): ModelVersion {
  return { name: 'models/a/versions/1', metrics };
}

test('what the verifier measured is no metric of the validation', () => {
  const accuracy = { name: 'held_out.accuracy', value: 0.9 };
  assert.deepEqual(validationMetrics(modelWith([accuracy, rank])), [accuracy]);
  assert.equal(metricSource(accuracy), 'on held-out rows');
  assert.equal(metricSource(rank), '');
  assert.equal(mainMetric(modelWith([rank])), '–');
});

test('a headline has measures of quality alone', () => {
  const names = ['folds.accuracy', 'folds.active_terms', 'folds.relative_gap', 'folds.balanced_accuracy', 'folds.auc'];
  const model = modelWith(names.map((name) => ({ name, value: 1 })));
  assert.deepEqual(headlineMetrics(model).map(({ name }) => name), ['folds.accuracy', 'folds.balanced_accuracy']);
});

test('a gap that is below 0 by rounding is none', () => {
  assert.match(certificateWords({ kind: 'CERTIFICATE_KIND_GAP', accuracy: -1e-16 }), /within 0 % of/);
});

test('what proves no optimum is no gap', () => {
  assert.equal(accuracyWords({ kind: 'CERTIFICATE_KIND_STATIONARITY', accuracy: 1e-4 }), 'Stationarity');
  assert.equal(accuracyWords({ kind: 'CERTIFICATE_KIND_GAP', accuracy: 1e-4 }), 'Relative gap');
  assert.equal(accuracyWords(undefined), 'Relative gap');
});

test('tasks are named, many of them are counted', () => {
  assert.equal(tasksText({ column: 'subject', names: ['ann', 'bob'] }), 'tasks ann, bob (column subject)');
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  assert.equal(tasksText({ column: 'subject', names }), '20 tasks: s0, s1, s2, s3, s4, s5, … (column subject)');
});

test('warnings are the model\'s, and before there is one the decisions of the request', () => {
  const request = { decisions: [{ message: 'y is a number' }] };
  assert.deepEqual(warningsOf(undefined, request), ['y is a number']);
  assert.deepEqual(warningsOf({ ...modelWith([]), warnings: [{ message: 'worse than the mean' }] }, request), ['worse than the mean']);
  assert.deepEqual(warningsOf(modelWith([]), request), []);
  assert.deepEqual(plainMetrics(modelWith([{ name: 'limit_reached.max_groups', value: 50 }])), []);
});

test('metrics of single tasks stand apart', () => {
  const accuracy = { name: 'folds.accuracy', value: 0.9 };
  const model = modelWith([
    accuracy,
    { name: 'folds.task.a.b.accuracy', value: 0.875 },
    { name: 'folds.task.c.accuracy', value: 1 },
    { name: 'folds.task.c.auc', value: 0.75 },
  ]);
  assert.deepEqual(plainMetrics(model), [accuracy]);
  const { metrics, tasks } = taskMetrics(model);
  assert.deepEqual(metrics, ['accuracy', 'auc']);
  assert.deepEqual(
    tasks.map(({ task, texts }) => [task, texts.get('accuracy'), texts.has('auc')]),
    [['a.b', '87.50 %', false], ['c', '100.00 %', true]],
  );
  assert.deepEqual(taskMetrics(modelWith([accuracy, { name: 'path.1.task.c.accuracy', value: 1 }])).tasks, []);
});

test('the values of a path, and the best of them', () => {
  const accuracy = { name: 'held_out.accuracy', value: 0.9 };
  const model = modelWith([
    accuracy,
    { name: 'path.best', value: 2 },
  ]);
  model.tables = [
    {
      name: 'path',
      rows: ['0.1', '0.05'],
      columns: ['accuracy', 'accuracy deviation', 'active_terms', 'relative_gap'],
      values: { rows: '2', columns: '4', values: [0.8, 0.125, 3, 1e-4, 0.9, 0.25, 4, 1e-4] },
    },
  ];
  assert.deepEqual(pathOf(model), {
    score: 'accuracy',
    values: [
      { value: 0.1, score: 0.8, deviation: 0.125, activeTerms: 3, gap: 1e-4, best: false },
      { value: 0.05, score: 0.9, deviation: 0.25, activeTerms: 4, gap: 1e-4, best: true },
    ],
  });
  assert.deepEqual(plainMetrics(model), [accuracy]);
  assert.deepEqual(pathOf(modelWith([accuracy])).values, []);
});

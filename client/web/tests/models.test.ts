import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mainMetric, metricSource, pathOf, plainMetrics, validationMetrics } from '../src/lib/models.ts';
import type { Metric, Model } from '../src/api/model_types.ts';

const rank: Metric = { name: 'low_rank.joint_rank', value: 312 };

function modelWith(metrics: Metric[]): Model {
  return { name: 'models/a/versions/1', metrics };
}

test('what the verifier measured is no metric of the validation', () => {
  const accuracy = { name: 'held_out.accuracy', value: 0.9 };
  assert.deepEqual(validationMetrics(modelWith([accuracy, rank])), [accuracy]);
  assert.equal(metricSource(accuracy), 'on held-out rows');
  assert.equal(metricSource(rank), '');
  assert.equal(mainMetric(modelWith([rank])), '–');
});

test('the values of a path, and the best of them', () => {
  const accuracy = { name: 'held_out.accuracy', value: 0.9 };
  const model = modelWith([
    accuracy,
    { name: 'path.best', value: 2 },
    ...[0.8, 0.9].flatMap((score, index) => [
      { name: `path.${index + 1}.value`, value: 0.1 / (index + 1) },
      { name: `path.${index + 1}.accuracy`, value: score },
      { name: `path.${index + 1}.active_terms`, value: 3 + index },
      { name: `path.${index + 1}.relative_gap`, value: 1e-4 },
    ]),
  ]);
  assert.deepEqual(pathOf(model), {
    score: 'accuracy',
    values: [
      { value: 0.1, score: 0.8, activeTerms: 3, gap: 1e-4, best: false },
      { value: 0.05, score: 0.9, activeTerms: 4, gap: 1e-4, best: true },
    ],
  });
  assert.deepEqual(plainMetrics(model), [accuracy]);
  assert.deepEqual(pathOf(modelWith([accuracy])).values, []);
});

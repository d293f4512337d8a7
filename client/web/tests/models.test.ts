import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mainMetric, metricSource, validationMetrics } from '../src/lib/models.ts';
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

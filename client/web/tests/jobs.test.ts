import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job, TrainingProgress } from '../src/api/types.ts';
import { standingOf } from '../src/lib/jobs.ts';

const standing = (progress: TrainingProgress) => standingOf({ state: 'JOB_STATE_RUNNING', progress: { progress } } as Job);

test('a running job: its stage, with the share that is done, and the time that is left', () => {
  assert.equal(standing({ phase: 'train', stage: 'solve' }), 'solve');
  assert.equal(standing({ phase: 'train', stage: 'factor', stageFraction: 0.429 }), 'factor 42 %');
  assert.equal(standing({ phase: 'train', stage: 'factor', stageFraction: 0 }), 'factor 0 %');
  assert.equal(standing({ phase: 'train', stage: 'solve', remaining: '8s' }), 'about 8.0 s left');
  assert.equal(standing({ phase: 'fold 1 of 2', stage: 'factor', stageFraction: 1, remaining: '8s' }), 'fold 1 of 2, factor 100 %, about 8.0 s left');
});

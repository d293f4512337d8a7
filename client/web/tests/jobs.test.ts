import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job, TrainingProgress } from '../src/api/types.ts';
import { datasetsOfJob, matchesText, standingOf, titleOf, workWords } from '../src/lib/jobs.ts';
import { describeWork } from '../src/lib/request_words.ts';

const standing = (progress: TrainingProgress) => standingOf({ state: 'JOB_STATE_RUNNING', progress: { progress } } as Job);

test('a running job: its stage, with the share that is done, and the time that is left', () => {
  assert.equal(standing({ phase: 'train', stage: 'solve' }), 'solve');
  assert.equal(standing({ phase: 'verify', stage: 'verify' }), 'verify');
  assert.equal(standing({ phase: 'train', stage: 'factor', stageFraction: 0.429 }), 'factor 42 %');
  assert.equal(standing({ phase: 'train', stage: 'factor', stageFraction: 0 }), 'factor 0 %');
  assert.equal(standing({ phase: 'train', stage: 'solve', remaining: '8s' }), 'about 8.0 s left');
  assert.equal(standing({ phase: 'fold 1 of 2', stage: 'factor', stageFraction: 1, remaining: '8s' }), 'fold 1 of 2, factor 100 %, about 8.0 s left');
});

test('a job of another kind than a training says what it does, of which model and on which data', () => {
  const prediction = {
    name: 'jobs/p', kind: 'JOB_KIND_PREDICTION', predictionRequest: { model: 'models/m/versions/1', dataset: 'datasets/clouds' },
  } as Job; // prettier-ignore
  assert.equal(workWords(prediction), 'prediction of m · version 1 on clouds');
  assert.deepEqual(datasetsOfJob(prediction), ['datasets/clouds']);
  assert.ok(matchesText(prediction, 'prediction clouds'));
  assert.equal(titleOf(prediction), 'm · version 1');
  const verification = { name: 'jobs/v', kind: 'JOB_KIND_VERIFICATION', verificationRequest: { name: 'models/m/versions/2' } } as Job;
  assert.equal(workWords(verification), 'verification of m · version 2');
  const training = { name: 'jobs/t', learner: 'svm', request: { data: [{ dataset: 'datasets/clouds' }] } } as Job;
  assert.equal(workWords(training), 'svm on clouds');
});

test('a job that has ended says in a line what has come of it', () => {
  const done = (result: Partial<Job>) => standingOf({ name: 'jobs/j', state: 'JOB_STATE_SUCCEEDED', ...result });
  assert.equal(done({ evaluation: { metrics: [{ name: 'accuracy', value: 0.9 }, { name: 'auc', value: 0.95 }] } }), '90.00 % accuracy');
  assert.equal(done({ verification: { matches: true } }), 'the same certificate');
  assert.equal(done({ verification: {} }), 'another certificate than the stored one');
  assert.equal(done({ prediction: { dataset: 'datasets/told' } }), 'made told');
  assert.equal(done({ model: 'models/m/versions/1' }), '');
});

test('the request of a job that is no training is told in words', () => {
  const job: Job = {
    name: 'jobs/p', priority: 3,
    predictionRequest: { model: 'models/m/versions/1', dataset: 'datasets/clouds', keepColumns: ['id'], unseen: 'UNSEEN_ROWS_ROW_ERROR', taskRule: 'TASK_RULE_MEAN' },
  }; // prettier-ignore
  assert.deepEqual(describeWork(job), [
    ['model', 'm · version 1'],
    ['data', 'clouds'],
    ['tasks by', 'mean'],
    ['unknown categories', 'row error'],
    ['columns kept', 'id'],
    ['priority', '3'],
  ]);
  assert.deepEqual(describeWork({ name: 'jobs/v', verificationRequest: { name: 'models/m/versions/2' } }), [['model', 'm · version 2']]);
});

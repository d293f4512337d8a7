import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ProgressEvent, TrainingProgress } from '../src/api/types.ts';
import { JobProgress, MAX_LOG_EVENTS, MAX_POINTS } from '../src/live/job_progress.ts';

function step(sequence: number, iteration: number, elapsed: string, change: TrainingProgress = {}): ProgressEvent {
  return {
    sequence: String(sequence),
    iteration: String(iteration),
    progress: { phase: 'train', primal: 10 / iteration, dual: 1, relativeGap: 1 / iteration, activeKernels: '3', elapsed, ...change },
  };
}

test('columns, with null for what is not known or infinite', () => {
  const progress = new JobProgress('jobs/a');
  progress.apply(step(1, 1, '0.5s', { dual: '-Infinity', activeKernels: undefined }));
  progress.apply(step(2, 2, '1s'));
  assert.deepEqual(progress.series.iteration, [1, 2]);
  assert.deepEqual(progress.series.time, [0.5, 1]);
  assert.deepEqual(progress.series.primal, [10, 5]);
  assert.deepEqual(progress.series.dual, [null, 1]);
  assert.deepEqual(progress.series.activeKernels, [null, 3]);
});

test('an event that comes again changes nothing', () => {
  const progress = new JobProgress('jobs/a');
  progress.apply(step(1, 1, '1s'));
  const { version } = progress;
  progress.apply(step(1, 1, '1s'));
  assert.equal(progress.version, version);
  assert.equal(progress.series.time.length, 1);
  assert.equal(progress.log.length, 1);
});

test('what came after the checkpoint is cut off, and training time goes on from there', () => {
  const progress = new JobProgress('jobs/a');
  for (const [sequence, iteration] of [[1, 1], [2, 2], [3, 3]] as const) progress.apply(step(sequence, iteration, `${iteration}s`));
  progress.apply({ sequence: '4', resumed: { fromIteration: '2' } });
  progress.apply(step(5, 3, '0.25s'));
  assert.deepEqual(progress.series.iteration, [1, 2, 3]);
  assert.deepEqual(progress.series.time, [1, 2, 2.25]);
  assert.deepEqual(progress.cuts, [{ iteration: 2, time: 2 }]);
});

test('a start from the beginning cuts everything', () => {
  const progress = new JobProgress('jobs/a');
  progress.apply(step(1, 1, '1s'));
  progress.apply({ sequence: '2', resumed: {} });
  assert.deepEqual(progress.series.time, []);
  progress.apply(step(3, 1, '0.5s'));
  assert.deepEqual(progress.series.time, [0.5]);
});

test('no line leads from one phase to the next', () => {
  const progress = new JobProgress('jobs/a');
  progress.apply(step(1, 1, '1s'));
  progress.apply(step(2, 2, '2s', { phase: 'fold 1 of 3' }));
  assert.deepEqual(progress.series.primal, [10, null, 5]);
  assert.deepEqual(progress.series.iteration, [1, 1, 2]);
});

test('a long job stays small: the older half is thinned, the log keeps its end', () => {
  const progress = new JobProgress('jobs/a');
  for (let sequence = 1; sequence <= 3 * MAX_POINTS; ++sequence) progress.apply(step(sequence, sequence, `${sequence}s`));
  const { series } = progress;
  assert.ok(series.time.length <= MAX_POINTS);
  assert.deepEqual(new Set(Object.values(series).map((column) => column.length)).size, 1);
  assert.ok(series.time.every((time, index) => index === 0 || time > (series.time[index - 1] ?? 0)));
  assert.equal(series.time.at(-1), 3 * MAX_POINTS);
  assert.ok(progress.log.length <= 1.5 * MAX_LOG_EVENTS);
  assert.equal(progress.log.at(-1)?.sequence, String(3 * MAX_POINTS));
});

test('stages: waiting, what runs, the end; a stop that is asked for is none', () => {
  const progress = new JobProgress('jobs/a');
  const at = (second: number) => `2026-01-01T00:00:0${second}Z`;
  progress.apply({ sequence: '1', time: at(0), stateChange: { state: 'JOB_STATE_QUEUED' } });
  progress.apply({ sequence: '2', time: at(1), stateChange: { state: 'JOB_STATE_RUNNING' } });
  progress.apply({ ...step(3, 1, '1s'), time: at(2) });
  progress.apply({ sequence: '4', time: at(3), stateChange: { state: 'JOB_STATE_RUNNING', reason: 'STOP_REQUESTED' } });
  progress.apply({ ...step(5, 2, '1s', { phase: 'fold 1 of 2' }), time: at(4) });
  progress.apply({ sequence: '6', time: at(5), stateChange: { state: 'JOB_STATE_SUCCEEDED' } });
  const zero = Date.parse(at(0));
  assert.deepEqual(progress.stages.map(({ name, start }) => [name, (start - zero) / 1000]), [['queued', 0], ['train', 1], ['fold 1 of 2', 4], ['succeeded', 5]]);
});

test('folds and values of a path are one stage, whose name is that of the latest', () => {
  const progress = new JobProgress('jobs/a');
  let sequence = 0;
  progress.apply({ sequence: String(++sequence), time: '2026-01-01T00:00:00Z', stateChange: { state: 'JOB_STATE_RUNNING' } });
  for (let fold = 1; fold <= 40; ++fold) {
    for (let value = 1; value <= 5; ++value) progress.apply({ ...step(++sequence, sequence, '1s', { phase: `fold ${fold} of 40, value ${value} of 5` }), time: '2026-01-01T00:00:01Z' });
  }
  progress.apply(step(++sequence, sequence, '1s', { phase: 'train' }));
  assert.deepEqual(progress.stages.map(({ name }) => name), ['fold 40 of 40, value 5 of 5', 'train']);
  assert.equal(progress.stages[0]?.start, Date.parse('2026-01-01T00:00:00Z'));
});

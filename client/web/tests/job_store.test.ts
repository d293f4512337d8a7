import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { JobStore } from '../src/live/job_store.ts';

function job(id: string, change: Partial<Job> = {}): Job {
  return { name: `jobs/${id}`, state: 'JOB_STATE_RUNNING', createTime: `2026-01-01T00:00:0${id.length}Z`, lastSequence: '1', ...change };
}

test('jobs come newest first, and a change keeps its place', () => {
  const store = new JobStore();
  store.receive({ job: job('a'), existing: true });
  store.receive({ job: job('bbb'), existing: true });
  store.receive({ job: job('cc'), existing: true });
  assert.equal(store.complete, false);
  store.endList('7');
  assert.equal(store.complete, true);
  store.apply({ job: job('cc', { state: 'JOB_STATE_VERIFYING', lastSequence: '2' }) });
  assert.deepEqual(store.list().map((each) => each.name), ['jobs/bbb', 'jobs/cc', 'jobs/a']);
  assert.equal(store.get('jobs/cc')?.state, 'JOB_STATE_VERIFYING');
});

test('the list is the same object until something changes', () => {
  const store = new JobStore();
  store.apply({ job: job('a') });
  const before = store.list();
  assert.equal(store.list(), before);
  store.apply({ job: job('a', { lastSequence: '2' }) });
  assert.notEqual(store.list(), before);
});

test('a new list removes what it does not name, also after one that was broken off', () => {
  const store = new JobStore();
  const names = () => store.list().map((each) => each.name);
  store.connected();
  for (const id of ['a', 'bb', 'ccc']) store.receive({ job: job(id), existing: true });
  store.endList('7');
  assert.equal(store.sequence, '7');
  store.connected();
  store.receive({ job: job('a', { lastSequence: '2' }), sequence: '8' });
  assert.deepEqual([store.sequence, names().length], ['8', 3], 'a stream that goes on has no list');
  store.connected();
  store.receive({ job: job('ccc'), existing: true });
  assert.equal(store.sequence, '0', 'a list that is broken off is no place to go on from');
  store.connected();
  store.receive({ job: job('bb'), existing: true });
  assert.equal(store.list().length, 3);
  store.endList('9');
  assert.deepEqual(names(), ['jobs/bb']);
  store.receive({ job: job('dddd'), existing: true });
  store.endList('12');
  assert.deepEqual(names(), ['jobs/dddd'], 'a second list in one stream, of a server that is slowly read');
  store.endList('13');
  assert.deepEqual(names(), [], 'a list of no jobs');
});

test('a job that has left goes', () => {
  const store = new JobStore();
  store.apply({ job: job('a') });
  store.apply({ job: job('a'), left: true });
  assert.equal(store.list().length, 0);
});

test('an older state does not replace a newer one, and a final one stays', () => {
  const store = new JobStore();
  store.apply({ job: job('a', { lastSequence: '9', state: 'JOB_STATE_CANCELLED' }) });
  store.apply({ job: job('a', { lastSequence: '8' }) });
  assert.equal(store.get('jobs/a')?.state, 'JOB_STATE_CANCELLED');
  store.apply({ job: job('a', { lastSequence: '9' }) });
  assert.equal(store.get('jobs/a')?.state, 'JOB_STATE_CANCELLED');
});

test('attempts, which the stream leaves out, are kept', () => {
  const store = new JobStore();
  store.apply({ job: job('a', { attempts: [{ number: 1 }] }) });
  store.apply({ job: job('a', { lastSequence: '2' }) });
  assert.deepEqual(store.get('jobs/a')?.attempts, [{ number: 1 }]);
});

test('the models that jobs have made are counted when all jobs have come', () => {
  const store = new JobStore();
  store.receive({ job: { name: 'jobs/a', model: 'models/m/versions/1' }, existing: true });
  store.receive({ job: { name: 'jobs/b', model: 'models/more/versions/1' }, existing: true });
  store.receive({ job: { name: 'jobs/c' }, existing: true });
  assert.equal(store.made(''), 0, 'whoever lists models at each change would list them for each job');
  store.endList();
  assert.deepEqual([store.made(''), store.made('models/m/')], [2, 1]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Job } from '../src/api/types.ts';
import { JobStore } from '../src/live/job_store.ts';

function job(id: string, change: Partial<Job> = {}): Job {
  return { name: `jobs/${id}`, state: 'JOB_STATE_RUNNING', createTime: `2026-01-01T00:00:0${id.length}Z`, lastSequence: '1', ...change };
}

test('jobs come newest first, and a change keeps its place', () => {
  const store = new JobStore();
  store.apply({ job: job('a'), existing: true });
  store.apply({ job: job('bbb'), existing: true });
  store.apply({ job: job('cc'), existing: true });
  assert.equal(store.complete, false);
  store.endSync();
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

test('a new connection removes what it does not name again', () => {
  const store = new JobStore();
  store.apply({ job: job('a') });
  store.apply({ job: job('bb') });
  store.beginSync();
  store.apply({ job: job('bb'), existing: true });
  assert.equal(store.list().length, 2);
  store.endSync();
  assert.deepEqual(store.list().map((each) => each.name), ['jobs/bb']);
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

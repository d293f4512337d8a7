import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOfText } from '../src/api/error.ts';
import { Token } from '../src/api/token.ts';
import { HIDDEN_SECONDS, Live } from '../src/live/live.ts';
import { FakeTimers } from './fake_timers.ts';

function newLive(frames: (() => void)[] = []): Live {
  const kept = new Map<string, string>();
  const token = new Token({ getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => void kept.set(key, value), removeItem: (key) => void kept.delete(key) });
  globalThis.fetch = () => new Promise(() => {});
  return new Live(token, (callback) => void frames.push(callback));
}

const progress = (sequence: number) => ({ id: '', event: 'progress', data: JSON.stringify({ job: 'jobs/a', event: { sequence: String(sequence), iteration: '1', progress: { primal: 1 } } }) });

test('however many events come, listeners are told once per frame', () => {
  const frames: (() => void)[] = [];
  const live = newLive(frames);
  let told = 0;
  live.subscribe(() => ++told);
  for (let index = 0; index < 100; ++index) live.receive({ id: '', event: 'job', data: JSON.stringify({ job: { name: `jobs/${index}` } }) });
  assert.equal(frames.length, 1);
  frames.pop()?.();
  assert.equal(told, 1);
  assert.equal(live.jobs.list().length, 100);
});

test('what a call has returned is told at once', () => {
  const frames: (() => void)[] = [];
  const live = newLive(frames);
  let told = 0;
  live.subscribe(() => ++told);
  live.put({ name: 'jobs/a' });
  live.forget('jobs/a');
  assert.deepEqual([told, frames.length], [2, 0]);
});

test('the stream asks for the job of the page, from the last event on, until its log is complete', () => {
  const live = newLive();
  assert.equal(live.path(), '/v1/events?jobs=1');
  live.watch('jobs/a');
  assert.equal(live.path(), '/v1/events?jobs=1&job=jobs/a:0');
  live.receive(progress(1));
  live.receive(progress(2));
  assert.equal(live.path(), '/v1/events?jobs=1&job=jobs/a:2');
  live.receive({ id: '', event: 'end', data: '{"job":"jobs/a"}' });
  assert.equal(live.path(), '/v1/events?jobs=1');
  live.watch(undefined);
  assert.equal(live.progress, undefined);
  live.stop();
});

test('a stream that is made again goes on behind the last change of a job', () => {
  const live = newLive();
  const job = { name: 'jobs/a', state: 'JOB_STATE_RUNNING' };
  live.receive({ id: '', event: 'job', data: JSON.stringify({ job, existing: true }) });
  assert.equal(live.path(), '/v1/events?jobs=1');
  live.receive({ id: '', event: 'existing', data: '{"existingSent":true,"sequence":"41"}' });
  assert.equal(live.path(), '/v1/events?jobs=1&afterSequence=41');
  live.receive({ id: '', event: 'job', data: JSON.stringify({ job, sequence: '42' }) });
  live.watch('jobs/a');
  assert.equal(live.path(), '/v1/events?jobs=1&afterSequence=42&job=jobs/a:0');
  live.stop();
});

test('events of a job whose page was left are ignored', () => {
  const live = newLive();
  live.watch('jobs/b');
  live.receive(progress(1));
  assert.equal(live.progress?.version, 0);
  live.stop();
});

test('a server that knows fewer events is asked from the beginning', () => {
  const live = newLive();
  live.watch('jobs/a');
  live.receive(progress(5));
  const error = { code: 400, status: 'OUT_OF_RANGE', details: [{ '@type': 'google.rpc.ErrorInfo', reason: 'BEYOND_LAST_EVENT' }] };
  live.receive({ id: '', event: 'error', data: JSON.stringify({ job: 'jobs/a', error }) });
  assert.equal(live.path(), '/v1/events?jobs=1&job=jobs/a:0');
  live.stop();
});

test('a job that is not there is said, and not asked for again', () => {
  const live = newLive();
  live.watch('jobs/a');
  live.receive({ id: '', event: 'error', data: JSON.stringify({ job: 'jobs/a', error: { code: 404, status: 'NOT_FOUND', message: 'gone' } }) });
  assert.equal(live.progressError?.message, 'gone');
  assert.equal(live.path(), '/v1/events?jobs=1');
  live.stop();
});

test('errors of the service, and of what stands between', () => {
  const error = errorOfText(
    400,
    JSON.stringify({
      error: {
        code: 400,
        status: 'INVALID_ARGUMENT',
        message: 'bad',
        details: [
          { '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations: [{ field: 'p', description: 'too small' }] },
          { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'BAD_FIELDS', metadata: { p: '0' } },
        ],
      },
    }),
  );
  assert.deepEqual([error.code, error.message, error.reason, error.violations, error.metadata], ['INVALID_ARGUMENT', 'bad', 'BAD_FIELDS', [{ field: 'p', description: 'too small' }], { p: '0' }]);
  const page = errorOfText(502, '<html>Bad gateway</html>');
  assert.equal(page.message, 'the server answered 502');
  assert.ok(errorOfText(401, '{}').needsToken);
});

test('a page that is hidden for long gives its stream back, and has it again when it is shown', (context) => {
  const timers = new FakeTimers(context);
  const live = newLive();
  const signals: AbortSignal[] = [];
  globalThis.fetch = (_, init) => {
    if (init?.signal) signals.push(init.signal);
    return new Promise(() => {});
  };
  const open = () => signals.filter((signal) => !signal.aborted).length;
  live.start();
  live.setHidden(true);
  timers.tick(10_000);
  live.setHidden(false);
  timers.tick(10_000);
  assert.deepEqual([signals.length, open()], [1, 1], 'a short absence changes nothing');
  live.setHidden(true);
  timers.tick(HIDDEN_SECONDS * 1000);
  assert.equal(open(), 0);
  live.setHidden(false);
  assert.equal(open(), 1);
  live.stop();
});

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Backoff } from '../src/live/backoff.ts';
import { Connection, type Status } from '../src/live/connection.ts';
import { FakeTimers } from './fake_timers.ts';

class Answers {
  readonly asked: string[] = [];
  readonly statuses: Status[] = [];
  readonly events: string[] = [];
  private waiting: (() => void) | undefined;

  constructor(private readonly answers: (() => Response | Promise<Response>)[]) {}

  readonly fetch = (async (path: string, init: RequestInit) => {
    this.asked.push(path);
    const answer = this.answers.shift();
    if (answer) return answer();
    this.waiting?.();
    return new Promise((_, reject) => init.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError'))));
  }) as unknown as typeof fetch;

  /** All answers have been taken. */
  exhausted(): Promise<void> {
    return new Promise((resolve) => (this.waiting = resolve));
  }
}

function connect(answers: Answers): Connection {
  return new Connection({
    path: () => `/v1/events?after=${answers.events.length}`,
    headers: () => ({}),
    onOpen: () => {},
    onEvent: (event) => answers.events.push(event.data),
    onStatus: (status) => answers.statuses.push(status),
    fetch: answers.fetch,
    now: () => 0,
    backoff: new Backoff(() => 0),
  });
}

const stream = (text: string) => () => new Response(text, { status: 200 });
const refusal = (status: number, headers = {}) => () =>
  new Response(JSON.stringify({ error: { code: status, message: 'not now' } }), { status, headers });

async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; ++turn) await new Promise((resolve) => setImmediate(resolve));
}

test('after a break the stream is made again from the last event, with longer and longer waits', async (context) => {
  const timers = new FakeTimers(context);
  const answers = new Answers([stream('data: 1\n\n'), () => Promise.reject(new TypeError('refused')), refusal(503, { 'Retry-After': '7' }), stream('data: 2\n\n')]);
  const connection = connect(answers);
  const done = answers.exhausted();
  connection.start();
  for (const wait of [500, 1000, 7000, 500]) {
    await settle();
    timers.tick(wait - 1);
    const asked = answers.asked.length;
    await settle();
    assert.equal(answers.asked.length, asked, 'not sooner');
    timers.tick(1);
  }
  await done;
  connection.stop();
  assert.deepEqual(answers.events, ['1', '2']);
  assert.deepEqual(answers.asked, [0, 1, 1, 1, 2].map((count) => `/v1/events?after=${count}`));
  assert.deepEqual(
    answers.statuses.map((status) => (status.kind === 'waiting' ? status.until : status.kind)),
    ['live', 500, 1000, 7000, 'live', 500],
  );
});

test('a refusal for want of a token is no reason to try again', async () => {
  const answers = new Answers([refusal(401)]);
  const connection = connect(answers);
  connection.start();
  await settle();
  assert.deepEqual(answers.statuses, [{ kind: 'token' }]);
  assert.equal(answers.asked.length, 1);
});

test('a stream that has fallen silent is given up', async (context) => {
  const timers = new FakeTimers(context);
  const answers = new Answers([]);
  const connection = connect(answers);
  const asked = answers.exhausted();
  connection.start();
  await asked;
  timers.tick(25_000);
  await settle();
  connection.stop();
  assert.deepEqual(answers.statuses, [{ kind: 'waiting', until: 500, message: 'The server has fallen silent.' }]);
});

test('the waits grow to ten seconds and begin anew after a success', () => {
  const backoff = new Backoff(() => 0);
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7].map(() => backoff.next()), [0.5, 1, 2, 4, 8, 10, 10]);
  backoff.reset();
  assert.equal(backoff.next(), 0.5);
  assert.equal(backoff.next(30), 30);
  mock.reset();
});

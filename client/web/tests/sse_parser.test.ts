import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SseParser } from '../src/live/sse_parser.ts';

const STREAM = ': heartbeat\n\nid: 7\nevent: progress\ndata: {"a":1}\n\nevent: end\ndata: x\ndata:y\n\nevent: lost\n\ndata: plain\r\n\r\n';
const EVENTS = [
  { event: 'progress', data: '{"a":1}', id: '7' },
  { event: 'end', data: 'x\ny', id: '7' },
  { event: 'message', data: 'plain', id: '7' },
];

test('events, comments, several data lines, events without data', () => {
  assert.deepEqual(new SseParser().push(STREAM), EVENTS);
});

test('the same events come wherever the stream is cut, with every kind of line end', () => {
  for (const lineEnd of ['\n', '\r\n', '\r']) {
    const text = STREAM.replaceAll('\r\n', '\n').replaceAll('\n', lineEnd);
    for (let cut = 0; cut <= text.length; ++cut) {
      const parser = new SseParser();
      assert.deepEqual([...parser.push(text.slice(0, cut)), ...parser.push(text.slice(cut))], EVENTS, `cut at ${cut}`);
    }
    const parser = new SseParser();
    assert.deepEqual([...text].flatMap((character) => parser.push(character)), EVENTS);
  }
});

test('an event that is not finished does not come', () => {
  assert.deepEqual(new SseParser().push('event: progress\ndata: {"a":1}\n'), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../src/api/error.ts';
import type { ModelVersion } from '../src/api/model_types.ts';
import type { CertificateKind } from '../src/api/schema.ts';
import type { Job } from '../src/api/types.ts';
import { gapOf } from '../src/lib/jobs.ts';
import { Certificates } from '../src/live/certificates.ts';

/** Answers when it is told to. */
class Registry {
  readonly asked: string[] = [];
  private readonly open = new Map<string, { resolve: (model: ModelVersion) => void; reject: (error: unknown) => void }>();

  readonly load = (name: string) => {
    this.asked.push(name);
    return new Promise<ModelVersion>((resolve, reject) => this.open.set(name, { resolve, reject }));
  };

  async answer(name: string, accuracy: number, kind: CertificateKind = 'CERTIFICATE_KIND_GAP'): Promise<void> {
    this.open.get(name)?.resolve({ name, certificate: { kind, accuracy } });
    await settle();
  }

  async fail(name: string, error: unknown): Promise<void> {
    this.open.get(name)?.reject(error);
    await settle();
  }
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test('each certificate is asked for once, two at a time, the first ones first', async () => {
  const registry = new Registry();
  const certificates = new Certificates(registry.load, (callback) => callback());
  let told = 0;
  certificates.subscribe(() => ++told);
  certificates.want(['a', 'b', 'c', 'd']);
  assert.deepEqual(registry.asked, ['a', 'b']);
  await registry.answer('b', 2e-4);
  assert.deepEqual(registry.asked, ['a', 'b', 'c']);
  assert.equal(certificates.gapOf('b'), 2e-4);
  assert.equal(certificates.gapOf('a'), undefined);
  certificates.want(['b', 'a', 'c', 'd']);
  await registry.answer('a', 1e-4);
  assert.deepEqual(registry.asked, ['a', 'b', 'c', 'd']);
  assert.equal(told, 2);
});

test('however many certificates come, listeners are told once per frame', async () => {
  const registry = new Registry();
  const frames: (() => void)[] = [];
  const certificates = new Certificates(registry.load, (callback) => void frames.push(callback));
  let told = 0;
  certificates.subscribe(() => ++told);
  certificates.want(['a', 'b']);
  await registry.answer('a', 1e-4);
  await registry.answer('b', 2e-4);
  assert.equal(frames.length, 1);
  frames.pop()?.();
  assert.equal(told, 1);
});

test('what is not wanted any more is not asked for', async () => {
  const registry = new Registry();
  const certificates = new Certificates(registry.load, (callback) => callback());
  certificates.want(['a', 'b', 'c']);
  certificates.want(['d']);
  await registry.answer('a', 1e-4);
  assert.deepEqual(registry.asked, ['a', 'b', 'd']);
});

test('a model that is gone is not asked for again, one that could not be read is', async () => {
  const registry = new Registry();
  const certificates = new Certificates(registry.load, (callback) => callback());
  certificates.want(['gone', 'later', 'third']);
  await registry.fail('gone', new ApiError(404, 'NOT_FOUND', 'no such model'));
  await registry.fail('later', new TypeError('no connection'));
  await registry.fail('third', new TypeError('no connection'));
  assert.deepEqual(registry.asked, ['gone', 'later', 'third']);
  certificates.want(['gone', 'later']);
  assert.deepEqual(registry.asked, ['gone', 'later', 'third', 'later']);
});

test('a measure that is no gap is not shown as one', async () => {
  const registry = new Registry();
  const certificates = new Certificates(registry.load, (callback) => callback());
  certificates.want(['a']);
  await registry.answer('a', 0.5, 'CERTIFICATE_KIND_STATIONARITY');
  assert.equal(certificates.gapOf('a'), undefined);
});

test('a finished job shows the gap of its certificate, a running one that of its training', () => {
  const job = (state: Job['state']): Job => ({ name: 'jobs/a', state, progress: { progress: { relativeGap: 0.25 } } });
  assert.equal(gapOf(job('JOB_STATE_RUNNING'), undefined), '0.25');
  assert.equal(gapOf(job('JOB_STATE_SUCCEEDED'), 9.5e-5), '9.5e-5');
  assert.equal(gapOf(job('JOB_STATE_SUCCEEDED'), 0), '0');
  assert.equal(gapOf(job('JOB_STATE_CANCELLED'), undefined), '–');
});

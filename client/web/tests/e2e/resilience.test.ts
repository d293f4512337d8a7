// What goes wrong: a server that restarts in the middle of a training, streams that are refused, tokens.
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { FakeServer } from '../fake/fake_server.mjs';
import { closeBrowser, makeToken, openPage, picture, Server, SPAMBASE, until } from './support.ts';

after(closeBrowser);

const COLUMNS = ['word_freq_remove', 'word_freq_free', 'word_freq_george', 'word_freq_hp', 'word_freq_edu', 'char_freq_!', 'char_freq_$', 'capital_run_length_total'];

// Begins soon, and takes a minute if nobody ends it.
const MAIL = {
  data: [{ dataset: 'datasets/mail' }],
  learner: {
    lpMkl: {
      kernels: [
        { type: 'KERNEL_TYPE_GAUSSIAN', bandwidths: [2, 4, 8] },
        { type: 'KERNEL_TYPE_GAUSSIAN', bandwidth: 0.5, perColumn: true, columns: COLUMNS },
      ],
      p: 1.2,
      C: 10,
    },
  },
  stopping: { relativeGap: 1e-9 },
  validation: { folds: { count: 10 } },
};

/** Enough rows for a training of some seconds. */
function everySecondMail(): Uint8Array {
  const lines = gunzipSync(readFileSync(SPAMBASE)).toString().trim().split('\n');
  return Buffer.from(`${lines.filter((_, index) => index % 2 === 0).join('\n')}\n`);
}

async function withMail(server: Server): Promise<string> {
  await server.start();
  await server.upload('mail', 'label', everySecondMail());
  return (await server.call<{ name: string }>('POST', '/v1/jobs', MAIL)).name;
}

async function reach(page: Page, text: RegExp): Promise<void> {
  await page.getByRole('list', { name: /^Events/ }).getByText(text).first().waitFor();
}

test('a page survives the restart of the server and goes on with the job', { timeout: 240_000 }, async () => {
  const server = new Server(['--checkpoint-interval', '0']);
  const { page, complaints, close } = await openPage();
  try {
    const job = await withMail(server);
    await page.goto(`${server.url}/${job}`);
    await page.evaluate(() => Object.assign(window, { mark: 1 }));
    await reach(page, /iteration 1 /);
    await picture(page, '10-running');
    await server.stop();
    await page.getByRole('alert').getByText('Not connected').waitFor();
    await picture(page, '11-not-connected');
    await server.start();
    await page.getByRole('alert').getByText('Not connected').waitFor({ state: 'detached' });
    await page.locator('.connected.live').waitFor();
    await reach(page, /goes on from iteration|starts from the beginning/);
    const numbers = await page.locator('.log li').count();
    const stored = (await server.call<{ lastSequence: string }>('GET', `/v1/${job}`)).lastSequence;
    assert.ok(numbers <= Number(stored) + 1, 'every event once');
    assert.equal(await page.evaluate(() => 'mark' in window), true, 'the page was not loaded again');
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Cancel the job' }).click();
    await page.getByText('cancelled').first().waitFor();
    await page.getByRole('link', { name: 'Train again' }).waitFor();
    // A question that is open when its job ends goes with it.
    const { name } = await server.call<{ name: string }>('POST', '/v1/jobs', MAIL);
    await page.goto(`${server.url}/${name}`);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('dialog').waitFor();
    await server.call('POST', `/v1/${name}:cancel`, {});
    await page.getByText('Train again').waitFor();
    assert.equal(await page.getByRole('dialog').count(), 0);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    await server.remove();
  }
});

test('a job is stopped and its model kept; a request is repeated in the form', { timeout: 240_000 }, async () => {
  const server = new Server();
  const { page, close } = await openPage();
  try {
    const job = await withMail(server);
    await page.goto(`${server.url}/jobs`);
    await page.getByRole('progressbar').waitFor();
    await page.getByRole('link', { name: job.replace('jobs/', '') }).click();
    await reach(page, /iteration [2-9] /); // of steps that follow quickly only some are told
    await page.getByRole('button', { name: 'Stop, keep the model' }).click();
    await page.getByRole('link', { name: 'Open the model' }).waitFor();
    await page.getByRole('link', { name: 'Train again' }).click();
    await page.getByText(/^at most /).waitFor();
    assert.equal(await page.locator('[data-path="stopping.relative_gap"]').inputValue(), '1e-9');
    assert.equal(await page.locator('[data-path="learner.lp_mkl.p"]').inputValue(), '1.2');
  } finally {
    await close();
    await server.remove();
  }
});

test('a server with tokens asks for one, refuses a wrong one, and the tab keeps the right one', async () => {
  const server = new Server();
  const { page, close } = await openPage();
  try {
    const { line, token } = makeToken(server.folder, 'ada', 'read,train,predict');
    const tokens = path.join(server.folder, 'tokens');
    writeFileSync(tokens, line, { mode: 0o600 });
    const closed = new Server(['--tokens', tokens]);
    try {
      await closed.start();
      await page.goto(`${closed.url}/models`);
      await page.getByRole('dialog').waitFor();
      await picture(page, '12-token');
      await page.getByRole('textbox', { name: 'Token' }).fill(token.replace(/.$/, (last) => (last === '0' ? '1' : '0')));
      await page.getByRole('button', { name: 'Go on' }).click();
      await page.getByText('The server does not accept this token.').waitFor();
      await page.getByRole('textbox', { name: 'Token' }).fill(token);
      await page.keyboard.press('Enter');
      await page.getByText('There are no models yet').waitFor();
      await page.locator('.connected.live').waitFor();
      await page.reload();
      await page.getByText('There are no models yet').waitFor();
      assert.equal(await page.getByRole('dialog').count(), 0);
    } finally {
      await closed.remove();
    }
  } finally {
    await close();
    await server.remove();
  }
});

test('a stream that is refused is asked for again when the server said, and calls stay possible', async () => {
  const fake = new FakeServer({ runningJobs: 1 });
  const { page, close } = await openPage();
  try {
    const url = await fake.start();
    const streams = () => fake.requests.filter((request) => request.path === '/v1/events').length;
    fake.refuseStreams = Infinity; // until the page has said so: beside other programs it may take longer than some refusals
    await page.goto(`${url}/models`);
    await page.getByText('too many event streams').waitFor();
    await page.getByRole('link', { name: 'spam', exact: true }).waitFor();
    const refused = streams();
    fake.refuseStreams = 0;
    await page.locator('.connected.live').waitFor();
    assert.equal(streams(), refused + 1);
  } finally {
    await close();
    await fake.stop();
  }
});

test('what could not be read while the server was away comes by itself when it is back', async () => {
  const fake = new FakeServer();
  const { page, close } = await openPage();
  try {
    const url = await fake.start();
    await page.goto(`${url}/models`);
    await page.getByRole('link', { name: 'spam', exact: true }).waitFor();
    await fake.stop();
    await page.getByRole('alert').getByText('Not connected').waitFor();
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Data' }).click();
    await page.getByText('The server does not answer.', { exact: true }).waitFor();
    await fake.start(Number(new URL(url).port));
    await page.getByRole('link', { name: 'spambase', exact: true }).waitFor();
    await page.getByRole('alert').waitFor({ state: 'detached' });
  } finally {
    await close();
    await fake.stop();
  }
});

test('walking through the pages leaves one stream, and neither listeners nor nodes behind', { timeout: 120_000 }, async () => {
  const fake = new FakeServer({ runningJobs: 5, eventsPerSecond: 20 });
  const { page, complaints, close } = await openPage();
  try {
    const url = await fake.start();
    await page.goto(url);
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    const measure = async () => {
      await session.send('HeapProfiler.collectGarbage');
      const { metrics } = await session.send('Performance.getMetrics');
      const value = (name: string) => metrics.find((metric) => metric.name === name)?.value ?? NaN;
      return { nodes: value('Nodes'), listeners: value('JSEventListeners') };
    };
    const walk = async () => {
      for (const place of ['Models', 'Data', 'Jobs']) await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: place }).click();
      await page.getByRole('link', { name: 'sim00' }).click();
      await page.getByRole('img', { name: /^Objective / }).waitFor();
      await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Jobs' }).click();
      await page.getByRole('link', { name: 'sim00' }).waitFor();
    };
    for (let round = 0; round < 3; ++round) await walk();
    const before = await measure();
    for (let round = 0; round < 12; ++round) await walk();
    const afterwards = await measure();
    assert.ok(afterwards.nodes < before.nodes + 200, JSON.stringify([before, afterwards]));
    assert.ok(afterwards.listeners < before.listeners + 50, JSON.stringify([before, afterwards]));
    await until(() => fake.streams.size === 1, () => `${fake.streams.size} streams`);
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    await fake.stop();
  }
});

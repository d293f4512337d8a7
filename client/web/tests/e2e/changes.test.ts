// What is changed and deleted: words and labels of models, versions, data sets and jobs; and what jobs that are no trainings have made.
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import type { Dataset } from '../../src/api/dataset_types.ts';
import type { Model, ModelVersion } from '../../src/api/model_types.ts';
import type { Job, Labels } from '../../src/api/types.ts';
import { closeBrowser, flowers, makeToken, openPage, picture, Server, until } from './support.ts';

const server = new Server();
let page: Page;
let complaints: string[];
let training: string;

const TRAINING = { data: [{ dataset: 'datasets/flowers' }], model: 'models/flowers', learner: { svm: {} }, validation: { holdOut: { fraction: 0.25 } }, labels: { by: 'night' } };

async function trained(on: Server): Promise<string> {
  await on.upload('flowers', 'kind', new TextEncoder().encode(flowers()));
  const { name } = await on.call<Job>('POST', '/v1/jobs', TRAINING);
  await on.finish(name);
  return name;
}

before(async () => {
  await server.start();
  training = await trained(server);
  ({ page, complaints } = await openPage());
});

after(async () => {
  await closeBrowser();
  await server.remove();
});

const panelOf = (of: Page, title: string): Locator => of.locator('.panel', { has: of.getByRole('heading', { name: title, exact: true }) });
const model = () => server.call<Model>('GET', '/v1/models/flowers');
const labelsOf = async (name: string) => (await server.call<{ labels?: Labels }>('GET', `/v1/${name}`)).labels ?? {};

test('a model gets a name, a description and labels, and the list finds it by them', async () => {
  await page.goto(`${server.url}/models/flowers`);
  const panel = panelOf(page, 'Model flowers');
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('name', { exact: true }).fill('Meadow flowers');
  await panel.getByLabel('description').fill('Tells three kinds apart.');
  await panel.getByRole('button', { name: 'Add a label' }).click();
  await page.keyboard.type('team');
  await panel.getByLabel('value of label 1').fill('botany');
  await picture(page, '30-words');
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('Saved.').waitFor();
  await panel.getByText('team=botany').waitFor();
  const { displayName, description, labels } = await model();
  assert.deepEqual({ displayName, description, labels }, { displayName: 'Meadow flowers', description: 'Tells three kinds apart.', labels: { team: 'botany' } });
  await page.goto(`${server.url}/models?q=meadow team=botany`);
  await page.getByText('Meadow flowers · svm').waitFor();
});

/** Holds back the page's call that `begin` leads to until `meanwhile` has ended. */
async function holding(method: string, resource: string, begin: () => Promise<unknown>, meanwhile: () => Promise<void>): Promise<void> {
  const address = `${server.url}/v1/${resource}`;
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route(address, async (route) => {
    if (route.request().method() === method) await released;
    await route.continue();
  });
  const held = page.waitForRequest((request) => request.url() === address && request.method() === method);
  try {
    await begin();
    await held;
    await meanwhile();
  } finally {
    release();
    await page.unrouteAll({ behavior: 'wait' });
  }
}

test('what was saved stands there as soon as the page says so', async () => {
  await page.goto(`${server.url}/models/flowers`);
  const panel = panelOf(page, 'Model flowers');
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('description').fill('Tells them apart.');
  const save = () => panel.getByRole('button', { name: 'Save' }).click();
  await holding('GET', 'models/flowers', save, async () => assert.equal(await panel.getByText('Saved.').count(), 0));
  await panel.getByText('Saved.').waitFor();
  assert.equal(await panel.getByText('Tells them apart.').count(), 1);
});

test('what is saved is no failure when only the look at it fails', async () => {
  const panel = panelOf(page, 'Model flowers');
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('description').fill('Saved unseen.');
  const address = `${server.url}/v1/models/flowers`;
  await page.route(address, (route) => (route.request().method() === 'GET' ? route.abort() : route.continue()));
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('Saved.').waitFor();
  await page.unroute(address);
  assert.equal((await model()).description, 'Saved unseen.');
});

test('nothing is written into the form while it is saved', async () => {
  await page.goto(`${server.url}/models/flowers`);
  const panel = panelOf(page, 'Model flowers');
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('description').fill('Saved slowly.');
  const save = () => panel.getByRole('button', { name: 'Save' }).click();
  await holding('PATCH', 'models/flowers', save, async () => {
    await panel.getByText('Saving…').waitFor();
    for (const field of await panel.getByRole('textbox').all()) assert.equal(await field.isEditable(), false);
    for (const name of ['Add a label', 'Remove label 1']) assert.equal(await panel.getByRole('button', { name }).isDisabled(), true);
    await page.keyboard.press('Escape');
  });
  await panel.getByText('Saved.').waitFor();
  assert.equal((await model()).description, 'Saved slowly.');
});

test('a change of somebody else is told, and lost by no one', async () => {
  await page.goto(`${server.url}/models/flowers`);
  const panel = panelOf(page, 'Model flowers');
  const alert = panel.getByRole('alert');
  await panel.getByText('Meadow flowers').waitFor();
  const edit = async (text: string, theirs: object) => {
    await panel.getByRole('button', { name: 'Edit' }).click();
    await panel.getByLabel('description').fill(text);
    await server.call('PATCH', '/v1/models/flowers', { model: theirs, updateMask: Object.keys(theirs).join() });
    await panel.getByRole('button', { name: 'Save' }).click();
    await alert.getByText('Somebody else has changed this meanwhile').waitFor();
  };
  await edit('Mine.', { displayName: 'Garden flowers' });
  assert.match(await alert.innerText(), /the name is now “Garden flowers”. Nothing is saved yet/);
  await picture(page, '31-words-changed-meanwhile');
  for (const wanted of ['Take theirs', 'Save mine']) {
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), wanted);
  }
  await page.keyboard.press('Enter');
  await panel.getByText('Saved.').waitFor();
  let now = await model();
  assert.deepEqual([now.displayName, now.description], ['Garden flowers', 'Mine.'], 'what was not edited stays theirs');
  await panel.getByText('Garden flowers').waitFor();
  await edit('Mine again.', { description: 'Theirs.' });
  await alert.getByRole('button', { name: 'Take theirs' }).click();
  assert.equal(await panel.getByLabel('description').inputValue(), 'Theirs.');
  await panel.getByRole('button', { name: 'Go back' }).click();
  assert.equal(await panel.getByText('Theirs.').count(), 1);
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('Saved.').waitFor();
  now = await model();
  assert.equal(now.description, 'Theirs.');
});

test('a button that takes a while keeps the focus', async () => {
  const certificate = panelOf(page, 'Certificate');
  await certificate.getByRole('button', { name: 'Recompute' }).focus();
  await page.keyboard.press('Enter');
  await certificate.getByText('Recomputed just now').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Recompute');
});

test('a version has words of its own', async () => {
  const panel = panelOf(page, 'Version 1');
  await panel.getByText('by=night').waitFor();
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByRole('button', { name: 'Remove label 1' }).click();
  await panel.getByLabel('description').fill('The first.');
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('The first.').waitFor();
  const { labels = {}, description } = await server.call<ModelVersion>('GET', '/v1/models/flowers:version');
  assert.deepEqual([labels, description], [{}, 'The first.']);
});

test('name and labels of a job are changed with the keyboard alone', async () => {
  await page.goto(`${server.url}/${training}`);
  const panel = panelOf(page, 'Name and labels');
  await panel.getByText('by=night').waitFor();
  await panel.getByRole('button', { name: 'Edit' }).focus();
  await page.keyboard.press('Enter');
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.closest('label, button')?.textContent ?? '');
  await until(async () => (await focused()) === 'name', () => 'the focus on the name');
  await page.keyboard.type('Nightly');
  for (const _ of ['key', 'value', 'remove', 'add']) await page.keyboard.press('Tab');
  assert.equal((await focused()).trim(), 'Add a label');
  await page.keyboard.press('Enter');
  await until(async () => (await focused()) === 'key of label 2', () => 'the focus on the new label');
  await page.keyboard.type('Not a key');
  await page.keyboard.press('Enter');
  await panel.getByRole('alert').waitFor();
  assert.match(await panel.getByRole('alert').innerText(), /BAD_FIELDS/);
  await page.keyboard.press('Control+A');
  await page.keyboard.type('stage');
  await page.keyboard.press('Tab');
  await page.keyboard.type('test');
  await page.keyboard.press('Enter');
  await panel.getByText('stage=test').waitFor();
  assert.equal((await focused()).trim(), 'Edit Name and labels');
  assert.deepEqual(await labelsOf(training), { by: 'night', stage: 'test' });
  await page.keyboard.press('Enter');
  await page.keyboard.type('forgotten');
  await page.keyboard.press('Escape');
  await panel.getByText('by=night').waitFor();
  await page.getByRole('heading', { level: 1, name: 'Nightly' }).waitFor();
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('value of label 1').fill('day');
  await server.call('PATCH', `/v1/${training}`, { job: { labels: { by: 'noon' } }, updateMask: 'labels' });
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('changed this meanwhile: the labels are now by=noon. Nothing').waitFor();
  await panel.getByRole('button', { name: 'Save mine' }).click();
  await panel.getByText('Saved.').waitFor();
  assert.deepEqual(await labelsOf(training), { by: 'day', stage: 'test' });
  assert.equal((await server.call<Job>('GET', `/v1/${training}`)).displayName, 'Nightly');
});

test('what was saved is not replaced by an older answer', async () => {
  const address = `${server.url}/v1/${training}`;
  const panel = panelOf(page, 'Name and labels');
  let release = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let saving = false;
  const old: Promise<unknown>[] = [];
  // The page shows the job that the stream has told of while its own call for it is on its way.
  await page.route(address, async (route) => {
    if (saving) return route.continue();
    const response = route.fetch();
    old.push(response);
    await Promise.all([response, released]);
    return route.fulfill({ response: await response }).catch(() => undefined);
  });
  await page.goto(address.replace('/v1/', '/'));
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('value of label 1').fill('late');
  await Promise.all(old);
  saving = true;
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('Saved.').waitFor();
  await panel.getByText('by=late').waitFor();
  release();
  await page.unrouteAll({ behavior: 'wait' });
  // Longer than a page takes to be drawn again.
  await page.waitForTimeout(300);
  assert.equal(await panel.getByText('by=late').count(), 1);
});

test('name and labels of a data set change, and the label of its content stays', async () => {
  await server.call('PATCH', '/v1/datasets/flowers', { dataset: { labels: { content: 'abc', of: 'June' } } });
  await page.goto(`${server.url}/datasets/flowers`);
  const panel = panelOf(page, 'Name and labels');
  await panel.getByText('of=June').waitFor();
  assert.equal(await panel.getByText('content').count(), 0);
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('value of label 1').fill('July');
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('of=July').waitFor();
  assert.deepEqual(await labelsOf('datasets/flowers'), { content: 'abc', of: 'July' });
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('name', { exact: true }).fill('Meadow');
  await server.call('PATCH', '/v1/datasets/flowers', { dataset: { labels: { content: 'abc', of: 'May' } }, updateMask: 'labels' });
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByText('changed this meanwhile: the labels are now of=May. Nothing').waitFor();
  await panel.getByRole('button', { name: 'Save mine' }).click();
  await page.getByText('Meadow · stored').waitFor();
  assert.deepEqual(await labelsOf('datasets/flowers'), { content: 'abc', of: 'May' });
  await panel.getByRole('button', { name: 'Edit' }).click();
  await panel.getByLabel('key of label 1').fill('content');
  await panel.getByRole('button', { name: 'Save' }).click();
  await panel.getByRole('alert').getByText('take another key').waitFor();
  assert.deepEqual(await labelsOf('datasets/flowers'), { content: 'abc', of: 'May' });
});

test('an evaluation shows its metrics beside those of the training', async () => {
  const { name } = await server.call<Job>('POST', '/v1/models/flowers/versions/1:startEvaluation', { dataset: 'datasets/flowers' });
  const { evaluation } = await server.finish(name);
  await page.goto(`${server.url}/${name}`);
  await page.getByText('evaluation of flowers · version 1 on flowers').waitFor();
  const row = panelOf(page, 'Metrics').getByRole('row', { name: /^accuracy/ });
  const share = (value: unknown) => `${(100 * Number(value)).toFixed(2)} %`;
  const metric = evaluation?.metrics?.find((each) => each.name === 'accuracy');
  await row.getByRole('cell', { name: share(metric?.value), exact: true }).first().waitFor();
  const { metrics } = await server.call<ModelVersion>('GET', '/v1/models/flowers:version');
  const before = share(metrics?.find((each) => each.name === 'held_out.accuracy')?.value);
  await until(async () => (await row.getByRole('cell').allInnerTexts())[1] === before, () => `${before} beside it`);
  await page.getByText('300 rows', { exact: true }).waitFor();
  assert.equal(await page.getByText('Support vectors').count(), 0, 'nothing of a training');
  await page.getByRole('list', { name: /^Events/ }).getByText(/^evaluate \d+ %$/).waitFor();
  await picture(page, '32-evaluation');
});

test('a verification shows its verdict and both gaps', async () => {
  const { name } = await server.call<Job>('POST', '/v1/models/flowers:startVerification', {});
  const { verification } = await server.finish(name);
  assert.equal(verification?.matches, true);
  await page.goto(`${server.url}/${name}`);
  await page.getByText('✓ Recomputed: the same values.').waitFor();
  const row = panelOf(page, 'Certificate').getByRole('row', { name: /^relative gap/ });
  const [recomputed, stored] = await row.getByRole('cell').allInnerTexts();
  assert.equal(recomputed, stored);
  assert.ok(Math.abs(Number(recomputed) / Number(verification?.certificate?.accuracy) - 1) < 0.01, recomputed);
  await page.getByRole('link', { name: 'flowers · version 1' }).waitFor();
  await picture(page, '33-verification');
});

test('a prediction leads to the data set that it has made, which stays when the job is deleted', async () => {
  const { name } = await server.call<Job>('POST', '/v1/models/flowers:predictDataset', { dataset: 'datasets/flowers', keepColumns: ['width'], displayName: 'told' });
  const { prediction } = await server.finish(name);
  await page.goto(`${server.url}/jobs`);
  await page.getByText(`made ${prediction?.dataset?.replace('datasets/', '')}`).waitFor();
  await page.getByRole('link', { name: 'told' }).click();
  const panel = panelOf(page, 'Predictions');
  await panel.getByText('300', { exact: true }).waitFor();
  await page.getByText('columns kept').waitFor();
  await page.getByRole('heading', { name: 'Attempts' }).waitFor();
  await picture(page, '34-prediction');
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  const dialog = page.getByRole('dialog');
  assert.match(await dialog.innerText(), /the request, \d+ events, 1 attempt.*\n.*The data set \S+ that it made, the model and its data stay/s);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await panel.getByRole('link').first().click();
  await page.getByText('told · stored').waitFor();
  await page.goBack();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('button', { name: 'Delete the job' }).click();
  await page.waitForURL(/\/jobs$/);
  await page.getByRole('link', { name: 'told' }).waitFor({ state: 'detached' });
  assert.equal((await fetch(`${server.url}/v1/${name}`)).status, 404);
  assert.equal((await server.call<Dataset>('GET', `/v1/${prediction?.dataset}`)).rows, '300');
});

test('a data set is predicted from the page of a model, by a job', async () => {
  await page.goto(`${server.url}/models/flowers/versions/1`);
  await page.getByLabel('Data set to evaluate or predict').selectOption('datasets/flowers');
  await page.getByRole('button', { name: 'Predict its rows' }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByRole('heading', { name: 'flowers · version 1' }).waitFor();
  await page.getByRole('link', { name: 'Open the data set' }).click();
  await page.waitForURL(/\/datasets\//);
  await page.goto(`${server.url}/jobs`);
  await page.getByRole('row', { name: /prediction of flowers · version 1/ }).getByRole('link', { name: /^made / }).waitFor();
});

/** Holds the answer to a click on the button until another page is shown, where one stays when it has come. */
async function expectToStayAway(button: string, resource: string): Promise<void> {
  const answer = page.waitForResponse((response) => response.url() === `${server.url}/v1/${resource}`);
  const click = () => page.getByRole('button', { name: button }).click();
  await holding('POST', resource, click, async () => {
    await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Models' }).click();
    await page.getByRole('row', { name: /flowers/ }).first().waitFor();
  });
  await (await answer).finished();
  await page.waitForTimeout(300);
  assert.equal(new URL(page.url()).pathname, '/models');
}

test('who has left the page is not taken to what he began there', async () => {
  await page.goto(`${server.url}/models/flowers/versions/1`);
  await page.getByLabel('Data set to evaluate or predict').selectOption('datasets/flowers');
  await expectToStayAway('Predict its rows', 'models/flowers/versions/1:predictDataset');
  await page.goto(`${server.url}/train?dataset=flowers`);
  await page.getByText(/^at most /).waitFor();
  await expectToStayAway('Start training', 'jobs');
});

test('an alias that was set anew meanwhile is removed on the second try', async () => {
  const alias = '/v1/models/flowers/aliases/nightly';
  await server.call('PUT', alias, { version: 'models/flowers/versions/1' });
  await page.goto(`${server.url}/models/flowers`);
  await page.getByRole('button', { name: 'Remove nightly' }).click();
  await server.call('DELETE', alias);
  await server.call('PUT', alias, { version: 'models/flowers/versions/1' });
  const dialog = page.getByRole('dialog');
  const remove = dialog.getByRole('button', { name: 'Remove the alias' });
  await remove.click();
  await dialog.getByText('STALE_ETAG').waitFor();
  const moves = page.locator('table[aria-label="Moves of nightly"] tbody tr');
  await until(async () => (await moves.count()) === 3, () => 'the moves made meanwhile');
  await remove.click();
  await dialog.waitFor({ state: 'detached' });
  await page.getByRole('heading', { name: 'Aliases' }).waitFor({ state: 'detached' });
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
});

test('an alias is set with the keyboard alone, or not', async () => {
  await page.goto(`${server.url}/models/flowers`);
  const focused = () => page.evaluate(() => document.activeElement?.getAttribute('placeholder') ?? document.activeElement?.textContent);
  await page.getByRole('button', { name: 'Set an alias' }).focus();
  await page.keyboard.press('Enter');
  await until(async () => (await focused()) === 'production', () => 'the focus on the alias');
  await page.keyboard.press('Escape');
  await until(async () => (await focused()) === 'Set an alias', () => 'the focus on the button');
});

test('of data with missing cells the form shows what can be done about them', async () => {
  await page.goto(`${server.url}/upload`);
  const rows = Array.from({ length: 20 }, (_, row) => `${row % 5 === 0 ? '' : row},${row % 2}`);
  await page.getByLabel('File to upload').setInputFiles({ name: 'gaps.csv', mimeType: 'text/csv', buffer: Buffer.from(`a,b\n${rows.join('\n')}\n`) });
  await page.getByLabel('cells may be missing').check();
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('link', { name: 'Train on it' }).click();
  await page.getByRole('alert').getByText('Choose under “Missing values”').waitFor();
  await page.getByLabel('Missing values').selectOption('MEAN_OR_MOST_FREQUENT');
  await page.getByText(/^at most /).waitFor();
});

test('on a phone nothing of this is wider than the screen', async () => {
  const phone = await openPage({ viewport: { width: 375, height: 780 }, hasTouch: true, isMobile: true });
  const { jobs } = await server.call<{ jobs: Job[] }>('GET', '/v1/jobs');
  for (const job of jobs) {
    await phone.page.goto(`${server.url}/${job.name}`);
    await phone.page.getByRole('button', { name: 'Edit' }).click();
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    await picture(phone.page, `35-phone-${(job.kind ?? '').replace('JOB_KIND_', '').toLowerCase()}`);
    assert.ok(width <= 375, `${job.kind} is ${width} wide`);
  }
  await phone.close();
  assert.deepEqual(complaints, []);
});

test('who may not is told why, and is not offered it again', async () => {
  const made = Object.entries({ ada: 'read,train,predict', ben: 'read,train,predict', cleo: 'read' }).map(([name, scopes]) => makeToken(server.folder, name, scopes));
  const tokens = path.join(server.folder, 'tokens');
  writeFileSync(tokens, made.map(({ line }) => line).join(''), { mode: 0o600 });
  const closed = new Server(['--tokens', tokens]);
  const [ada = '', ben = '', cleo = ''] = made.map(({ token }) => token);
  const guest = await openPage();
  const become = (token: string) => guest.page.evaluate((value) => sessionStorage.setItem('mercer.token', value), token);
  try {
    await closed.start();
    closed.token = ada;
    const job = await trained(closed);
    await guest.page.goto(`${closed.url}/healthz`);
    await become(ben);
    for (const [address, title, yes] of [['models/flowers', 'Version 1', 'Delete version 1'], ['datasets/flowers', 'Name and labels', 'Delete the data set'], [job, 'Name and labels', 'Delete the job']] as const) {
      await guest.page.goto(`${closed.url}/${address}`);
      await guest.page.getByRole('button', { name: 'Delete', exact: true }).click();
      const dialog = guest.page.getByRole('dialog');
      await dialog.getByRole('button', { name: yes }).click();
      await dialog.getByText('NOT_OWNER').waitFor();
      assert.equal(await dialog.getByRole('button', { name: yes }).isDisabled(), true);
      await guest.page.keyboard.press('Escape');
      await dialog.waitFor({ state: 'detached' });
      assert.equal(await guest.page.getByRole('button', { name: 'Delete', exact: true }).isDisabled(), true);
      await guest.page.locator('.actions .refusal', { hasText: 'ada' }).waitFor();
      const panel = panelOf(guest.page, title);
      const edit = panel.getByRole('button', { name: 'Edit' });
      await edit.click();
      await panel.getByRole('button', { name: 'Add a label' }).click();
      await panel.getByLabel(/^key of label/).last().fill('mine');
      await panel.getByRole('button', { name: 'Save' }).click();
      await panel.getByText('NOT_OWNER').waitFor();
      assert.equal(await panel.getByRole('button', { name: 'Save' }).isDisabled(), true);
      await panel.getByRole('button', { name: 'Go back' }).click();
      assert.equal(await edit.isDisabled(), true);
      await panel.locator('.refusal', { hasText: 'ada' }).waitFor();
      await picture(guest.page, `36-refused-${address.split('/')[0]}`);
    }
    await become(cleo);
    await guest.page.reload();
    const labels = panelOf(guest.page, 'Name and labels');
    const save = async (value: string) => {
      await labels.getByRole('button', { name: 'Edit' }).click();
      await labels.getByLabel('value of label 1').fill(value);
      await labels.getByRole('button', { name: 'Save' }).click();
    };
    await save('day');
    await labels.getByText('SCOPE_MISSING').waitFor();
    // Whoever may, may.
    await become(ada);
    await guest.page.reload();
    await save('noon');
    await labels.getByText('by=noon').waitFor();
    await guest.page.getByRole('button', { name: 'Delete', exact: true }).click();
    await guest.page.getByRole('button', { name: 'Delete the job' }).click();
    await guest.page.getByText('Nothing has been trained yet').waitFor();
    const { models } = await closed.call<{ models: Model[] }>('GET', '/v1/models');
    assert.equal(models[0]?.name, 'models/flowers');
    assert.deepEqual(guest.complaints, []);
  } finally {
    await guest.close();
    await closed.remove();
  }
});

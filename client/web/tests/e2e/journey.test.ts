// What a user does: upload, look at the data, start a training from the form, watch it, read the model, predict.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import { closeBrowser, flowers, openPage, picture, Server, until } from './support.ts';

const server = new Server();
let page: Page;
let complaints: string[];

before(async () => {
  await server.start();
  ({ page, complaints } = await openPage());
});

after(async () => {
  await closeBrowser();
  await server.remove();
});

test('an empty server says what to do next', async () => {
  await page.goto(server.url);
  await page.getByText('Nothing has been trained yet').waitFor();
  await picture(page, '01-empty');
  await page.getByRole('link', { name: 'Start a training' }).click();
  await page.getByRole('link', { name: 'Upload a file' }).click();
  assert.equal(new URL(page.url()).pathname, '/upload');
});

test('a file is uploaded, and the page of the data shows what is in it', async () => {
  await page.getByLabel('File to upload').setInputFiles({ name: 'Flowers.csv', mimeType: 'text/csv', buffer: Buffer.from(flowers()) });
  await page.getByRole('cell', { name: 'setosa' }).first().waitFor();
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'flowers');
  assert.equal(await page.getByLabel('Column to predict').inputValue(), 'kind');
  await picture(page, '02-upload');
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('heading', { level: 1, name: 'flowers' }).waitFor();
  const balance = page.getByRole('list', { name: 'Rows per value of kind' });
  await balance.waitFor();
  assert.deepEqual((await balance.getByRole('listitem').allInnerTexts()).map((text) => text.replace(/\s+/g, ' ').trim()), ['setosa 100', 'versicolor 100', 'virginica 100']);
  await page.getByText('Nothing stands out').waitFor();
  await picture(page, '03-data');
});

test('a bad upload is refused in the words of the server', async () => {
  await page.goto(`${server.url}/upload`);
  await page.getByLabel('File to upload').setInputFiles({ name: 'bad.csv', mimeType: 'text/csv', buffer: Buffer.from('a,b\n1,2\n3\n') });
  await page.getByRole('button', { name: 'Upload' }).click();
  assert.match(await page.getByRole('alert').innerText(), /BAD_ROW/);
});

test('every learner has a form made from its description', async () => {
  await page.goto(`${server.url}/train?dataset=flowers`);
  const { learners } = await server.call<{ learners: { name: string; title: string; options: { name: string; meaning: string }[] }[] }>('GET', '/v1/learners');
  assert.ok(learners.length >= 3);
  for (const learner of learners) {
    // A card's name goes on with its description, and one title may end as another one begins.
    const card = page.locator('.choice-card', { has: page.getByText(learner.title, { exact: true }) });
    await card.getByRole('radio').check();
    for (const option of learner.options) {
      await page.locator(`[data-path="learner.${learner.name}.${option.name}"]`).waitFor();
      await page.getByText(option.meaning, { exact: true }).first().waitFor();
    }
  }
});

test('the form says which path an option goes through, and what takes the place of the path', async () => {
  await page.getByRole('radio', { name: 'Learning with infinitely many features' }).check();
  const lambda = page.locator('[data-path="learner.infinite_features.lambda"]');
  assert.match((await lambda.getAttribute('placeholder')) ?? '', /^default: the best of 5$/);
  await page.getByText('While it is empty: the best of 0.3, 0.1, ').waitFor();
  await page.getByText('When this is set and lambda is not, lambda is 0.003').first().waitFor();
  // What the server would decide stands beside the estimate.
  await page.getByText('No lambda was given: the best of').waitFor();
  await page.locator('[data-path="learner.infinite_features.lambda_unit"]').selectOption('absolute');
  await page.getByText('No lambda was given: the best of').waitFor({ state: 'detached' });
  assert.equal(await lambda.getAttribute('placeholder'), 'default: 0.003');
});

test('what the server objects to stands beside the field, before anything is started', async () => {
  await page.getByRole('radio', { name: 'lp-norm multiple kernel learning' }).check();
  await page.getByText(/^at most /).waitFor();
  const p = page.locator('[data-path="learner.lp_mkl.p"]');
  await p.fill('0.5');
  await page.locator('[data-path="learner.lp_mkl.p"][aria-invalid="true"]').waitFor();
  const error = page.locator(`[id="${await p.getAttribute('id')}-error"]`);
  assert.match(await error.innerText(), /\[1, inf\]/);
  await page.locator('[data-path="learner.lp_mkl.C"]').fill('much');
  await page.getByText('"much" is not a number').waitFor();
  await page.locator('[aria-busy="false"]').waitFor();
  await page.locator('[data-path="learner.lp_mkl.p"][aria-invalid="true"]').waitFor();
  await picture(page, '04-form-refused');
  await page.getByRole('button', { name: 'Start training' }).click();
  assert.equal(await page.evaluate(() => document.activeElement?.getAttribute('data-path')), 'learner.lp_mkl.p');
  await page.locator('[data-path="learner.lp_mkl.C"]').fill('10');
  await p.fill('1.2');
  await page.getByText(/^at most /).waitFor();
});

test('a training is started, watched to its end, and its model opened, without loading a page again', async () => {
  await page.evaluate(() => Object.assign(window, { mark: 1 }));
  await page.getByText('None: Gaussians whose bandwidths are').waitFor();
  await page.getByRole('button', { name: 'Add a family of kernels' }).click();
  await page.getByRole('button', { name: 'Add a family of kernels' }).click();
  await page.getByLabel('one kernel per column').last().check();
  await page.getByRole('radio', { name: 'Folds' }).check();
  await page.getByText('Names, preparation of the data, limits').click();
  await page.getByLabel('Model', { exact: true }).fill('flowers');
  await picture(page, '05-form');
  await page.getByRole('button', { name: 'Start training' }).click();
  await page.waitForURL(/\/jobs\//);
  await page.getByRole('link', { name: 'Open the model' }).waitFor();
  await page.getByRole('img', { name: /^Relative gap / }).waitFor();
  await until(async () => (await page.locator('.chart canvas').count()) === 3, () => 'three charts');
  const list = page.getByRole('list', { name: 'Stages' });
  await list.getByText('succeeded').waitFor();
  const stages = await list.innerText();
  for (const stage of ['queued', 'train', 'fold 5 of 5', 'verifying', 'succeeded']) assert.ok(stages.includes(stage), stages);
  await page.getByRole('button', { name: 'iteration' }).click();
  await page.getByRole('group', { name: 'Objective' }).getByRole('button', { name: 'log' }).click();
  await picture(page, '06-job');
  await page.getByRole('link', { name: 'Open the model' }).click();
  await page.getByRole('heading', { name: 'flowers version 1' }).waitFor();
  assert.equal(await page.evaluate(() => 'mark' in window), true);
});

test('the model shows its metrics, certificate and weights', async () => {
  const model = await server.call<{ metrics: { value: number }[]; kernelWeights: { kernels: string[] } }>('GET', '/v1/models/flowers:version');
  await page.getByText(`${(100 * (model.metrics[0]?.value ?? 0)).toFixed(2)} %`).first().waitFor();
  await page.getByText('is proven to be within').waitFor();
  await page.getByText(`of ${model.kernelWeights.kernels.length} kernels in use`).waitFor();
  await page.getByRole('button', { name: 'Recompute' }).click();
  await page.getByText('Recomputed just now: the same values.').waitFor();
  await page.getByRole('button', { name: 'column', exact: true }).click();
  const bars = await page.getByRole('list', { name: 'Weights per column, largest first' }).innerText();
  for (const column of ['width', 'height', 'noise', 'colour', 'all columns together']) assert.ok(bars.includes(column), bars);
});

test('the model is downloaded as it is stored', async () => {
  const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name: 'Download' }).click()]);
  const { digest } = await server.call<{ digest: string }>('GET', '/v1/models/flowers:version');
  assert.equal(createHash('sha256').update(readFileSync(await download.path())).digest('hex'), digest);
  assert.equal(download.suggestedFilename(), 'flowers-1.mercer');
});

test('the model is evaluated and predicts by hand, as the API does', async () => {
  await page.getByLabel('Data set to evaluate or predict').selectOption('datasets/flowers');
  await page.getByRole('button', { name: 'Evaluate' }).click();
  const evaluation = await server.call<{ metrics: { value: number }[] }>('POST', '/v1/models/flowers:evaluate', { dataset: 'datasets/flowers' });
  await page.getByRole('cell', { name: `${(100 * (evaluation.metrics[0]?.value ?? 0)).toFixed(2)} %` }).first().waitFor();

  await page.getByText('Paste a row of a CSV file').click();
  await page.getByLabel('A line of column names and a row of values').fill('colour,width,height,noise,kind\nblue,2.5,-2.5,0,?');
  assert.equal(await page.getByLabel('width', { exact: true }).inputValue(), '2.5');
  await page.getByRole('button', { name: 'Predict', exact: true }).click();
  const result = page.locator('.result-label');
  await result.waitFor();
  assert.match(await result.innerText(), /virginica/);
  const columns = [
    { name: 'width', numbers: { values: [2.5] } },
    { name: 'height', numbers: { values: [-2.5] } },
    { name: 'noise', numbers: { values: [0] } },
    { name: 'colour', texts: { values: ['blue'] } },
  ];
  const answer = await server.call<{ decisionValues: { values: number[] } }>('POST', '/v1/models/flowers:predict', { rows: { columns } });
  const shown = await page.locator('.result').innerText();
  for (const value of answer.decisionValues.values) assert.ok(shown.includes(Math.abs(value).toPrecision(4).replace(/0+$/, '')), `${value} in ${shown}`);
  await page.getByText('What each kernel contributes to virginica').waitFor();
  await picture(page, '07-model');
});

test('an alias is set, and two versions are compared', async () => {
  await page.getByRole('button', { name: 'Set an alias' }).click();
  await page.getByLabel('Alias').fill('production');
  await page.getByRole('button', { name: 'Point to version 1' }).click();
  await page.getByRole('heading', { level: 1, name: '@production' }).waitFor();
  const { request } = await server.call<{ request: { learner: { lpMkl: object } } }>('GET', new URL(await page.getByRole('link', { name: /^[a-z0-9]{16}$/ }).getAttribute('href') ?? '', 'http://a/v1/').href.replace('http://a', '/v1'));
  await server.call('POST', '/v1/jobs', { ...request, requestId: 'second', learner: { lpMkl: { ...request.learner.lpMkl, p: 1 } } });
  // The page notices the new version by itself.
  await page.getByRole('link', { name: 'version 2' }).waitFor();
  await page.getByRole('link', { name: 'compare', exact: true }).click();
  await page.getByRole('columnheader', { name: 'flowers · version 2' }).waitFor();
  assert.match(await page.getByRole('row', { name: /^p / }).innerText(), /1\.2\s+1/);
  await picture(page, '08-compare');
});

test('every move of an alias is listed, and it is rolled back and removed', async () => {
  await page.goto(`${server.url}/models/flowers`);
  await page.getByRole('heading', { name: 'flowers version 2' }).waitFor();
  await page.getByRole('button', { name: 'Set an alias' }).click();
  await page.getByLabel('Alias').fill('production');
  await page.getByRole('button', { name: 'Point to version 2' }).click();
  const moves = page.getByRole('table', { name: 'Moves of production' });
  await moves.getByText('version 1 → version 2').waitFor();
  await page.getByRole('button', { name: 'Roll back production' }).click();
  await moves.getByText('version 2 → version 1, rolled back').waitFor();
  assert.deepEqual((await moves.getByRole('row').allInnerTexts()).slice(1).map((text) => text.split('\t')[0]), ['version 2 → version 1, rolled back', 'version 1 → version 2', 'set to version 1']);
  await picture(page, '13-aliases');
});

test('a version with an alias stays, another one is deleted by keyboard, and the focus comes back', async () => {
  const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
  const dialog = page.getByRole('dialog');
  const opener = page.getByRole('button', { name: 'Delete', exact: true });
  await page.goto(`${server.url}/models/flowers/versions/1`);
  await opener.click();
  await dialog.getByText('@production points to version 1').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete version 1' }).isDisabled(), true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await until(async () => (await focused()) === 'Delete', () => 'the focus on what opened the dialog');

  await page.goto(`${server.url}/models/flowers/versions/2`);
  await opener.focus();
  await page.keyboard.press('Enter');
  const going = dialog.getByRole('list', { name: 'What goes' });
  await going.getByText(/^version 2: .* accuracy, .*B$/).waitFor();
  await dialog.getByText('Whoever asks for flowers without a version then gets version 1.').waitFor();
  await dialog.getByRole('radio', { name: 'the model with all 2 versions' }).check();
  await until(async () => (await going.getByRole('listitem').count()) === 2, () => 'both versions named');
  assert.equal(await dialog.getByRole('button', { name: 'Delete all 2 versions' }).isDisabled(), true);
  await dialog.getByRole('radio', { name: 'version 2 alone' }).check();
  await picture(page, '14-delete');
  for (let presses = 0; (await focused()) !== 'Delete version 2'; ++presses) {
    assert.ok(presses < 10, 'the button is reached with the keyboard');
    await page.keyboard.press('Tab');
  }
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: 'flowers version 1' }).waitFor();
  await dialog.waitFor({ state: 'detached' });
  assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), 'BODY');
  const { versions } = await server.call<{ versions: { name: string }[] }>('GET', '/v1/models/flowers/versions');
  assert.deepEqual(versions.map(({ name }) => name), ['models/flowers/versions/1']);
});

test('lists', async () => {
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Models' }).click();
  await page.getByRole('link', { name: 'flowers', exact: true }).waitFor();
  await picture(page, '09-models');
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Data' }).click();
  await page.getByRole('row', { name: /flowers/ }).waitFor();
  await page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Jobs' }).click();
  await page.getByRole('button', { name: /^succeeded 2/ }).click();
  await until(async () => (await page.getByRole('row').count()) === 3, () => 'the head and two rows');
  // The certificate's gap; that of the version that was deleted is gone with it.
  const { certificate } = await server.call<{ certificate: { accuracy: number } }>('GET', '/v1/models/flowers:version');
  const gaps = page.locator('td[data-label="Gap"]');
  await until(async () => (await gaps.allInnerTexts())[1] !== '–', () => 'the certified gap of the older job');
  const [newer, older] = await gaps.allInnerTexts();
  assert.equal(newer, '–');
  assert.ok(Math.abs(Number(older) / certificate.accuracy - 1) < 0.06, `${older} is ${certificate.accuracy} in two digits`);
  await page.getByLabel('Search jobs').fill('nothing like this');
  await page.getByText('No job matches.').waitFor();
});

test('what is left of the model, and the data, are deleted', async () => {
  await page.goto(`${server.url}/models/flowers`);
  await page.getByRole('button', { name: 'Remove production' }).click();
  await page.getByRole('button', { name: 'Remove the alias' }).click();
  await page.getByRole('heading', { level: 1, name: '@production' }).waitFor({ state: 'detached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete version 1' }).click();
  await page.waitForURL(`${server.url}/models`);
  await page.getByText('There are no models yet').waitFor();
  await page.goto(`${server.url}/datasets/flowers`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByText('300 rows, 4 feature columns').waitFor();
  await page.getByRole('button', { name: 'Delete the data set' }).click();
  await page.getByText('There are no data yet').waitFor();
  assert.equal(await page.evaluate(() => document.activeElement?.id), 'content');
});

test('an address that is none says so, and the browser has complained of nothing', async () => {
  await page.goto(`${server.url}/nowhere`);
  await page.getByText('There is no such page').waitFor();
  for (const name of ['jobs/nope', 'models/nope', 'datasets/nope']) {
    await page.goto(`${server.url}/${name}`);
    await page.getByRole('alert').getByText(`there is no ${name.startsWith('datasets') ? 'data set' : name.split('/')[0]?.slice(0, -1)}`).waitFor();
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor();
  }
  assert.deepEqual(complaints, []);
});

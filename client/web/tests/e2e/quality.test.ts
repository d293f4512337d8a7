// How good models are, beyond one number: rows held out, paths over folds, many models side by side; and roles at the upload.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Page } from 'playwright-core';
import type { ModelVersion } from '../../src/api/model_types.ts';
import type { Job } from '../../src/api/types.ts';
import { closeBrowser, flowers, openPage, picture, Server, until } from './support.ts';

const server = new Server();
let page: Page;
let complaints: string[];

/** Trains to the end; the model's page has what the server says of it. */
async function train(model: string, request: object): Promise<ModelVersion> {
  const { name } = await server.call<Job>('POST', '/v1/jobs', { data: [{ dataset: 'datasets/flowers' }], model: `models/${model}`, ...request });
  await server.finish(name);
  return server.call<ModelVersion>('GET', `/v1/models/${model}:version`);
}

before(async () => {
  await server.start();
  ({ page, complaints } = await openPage());
  await server.upload('flowers', 'kind', new TextEncoder().encode(flowers()));
});

after(async () => {
  await closeBrowser();
  await server.remove();
});

test('each column of an upload is given its role', async () => {
  await page.goto(`${server.url}/upload`);
  const lines = flowers().split('\n').slice(0, 61).map((line, row) => (row === 0 ? `${line},meadow,row` : `${line},m${row % 7},${row}`));
  await page.getByLabel('File to upload').setInputFiles({ name: 'meadows.csv', mimeType: 'text/csv', buffer: Buffer.from(`${lines.join('\n')}\n`) });
  await page.getByLabel('Column to predict').selectOption('kind');
  await page.getByLabel('Role of meadow').selectOption('group');
  await page.getByLabel('Role of row').selectOption('ignored');
  await page.getByText('group: rows of one value stay together in every split').waitFor();
  assert.equal(await page.getByLabel('Role of kind').inputValue(), 'target');
  await picture(page, '20-roles');
  await page.getByRole('button', { name: 'Upload' }).click();
  await page.getByRole('heading', { level: 1, name: 'meadows' }).waitFor();
  const dataset = await server.call<{ roleColumns: { name: string; role: string }[]; numColumns: string }>('GET', '/v1/datasets/meadows');
  assert.deepEqual(Object.fromEntries(dataset.roleColumns.map(({ name, role }) => [name, role])), { kind: 'COLUMN_ROLE_TARGET', meadow: 'COLUMN_ROLE_GROUP' });
  assert.equal(dataset.numColumns, '4');
});

test('kernels stand below their groups, the selected ones first', async () => {
  const gaussians = (group: string, columns: string[]) => ({ type: 'KERNEL_TYPE_GAUSSIAN', rule: 'BANDWIDTH_RULE_MEDIAN_MULTIPLES', bandwidths: [0.25, 0.5, 1, 2, 4, 8], columns, group });
  const kernels = [gaussians('shape', ['width', 'height']), gaussians('size alone', ['width']), gaussians('noise', ['noise'])];
  const model = await train('groups', { learner: { mixedNormMkl: { kernels } } });
  await page.goto(`${server.url}/models/groups`);
  const list = page.getByRole('list', { name: 'Kernels in their groups, largest weights first' });
  await list.waitFor();
  const lines = await list.getByRole('listitem').allInnerTexts();
  for (const group of ['shape', 'size alone', 'noise']) assert.equal(lines.filter((line) => new RegExp(`^${group}\\s+\\d of 6 selected`).test(line)).length, 1, lines.join(' | '));
  const weights = (model.kernelWeights?.weights?.values ?? []).map(Number);
  const selected = weights.filter((_, index) => index % 3 === 0 && weights[index] !== 0).length;
  assert.equal(await list.getByRole('img', { name: 'selected', exact: true }).count(), selected);
  assert.equal(await list.getByRole('img', { name: 'not selected' }).count(), 0);
  await picture(page, '26-groups');
  await list.getByRole('button', { name: /, of shape: show$/ }).click();
  assert.ok((await list.getByRole('img', { name: 'not selected' }).count()) > 0);
  // The tables of each output are in the picture.
  assert.equal(await page.getByRole('region', { name: /kernels by their weights/ }).count(), 0);
  await page.getByRole('button', { name: 'family', exact: true }).click();
  await page.getByRole('list', { name: 'Weights per family, largest first' }).waitFor();
  await server.call('DELETE', '/v1/models/groups');
});

test('a repair is offered where a precomputed kernel is chosen', async () => {
  await page.goto(`${server.url}/train?dataset=flowers`);
  await page.getByRole('radio', { name: 'lp-norm multiple kernel learning' }).check();
  const repair = page.getByLabel('Negative eigenvalues of precomputed kernels');
  await page.getByRole('button', { name: 'Add a family of kernels' }).click();
  assert.equal(await repair.count(), 0);
  await page.locator('[data-path="learner.lp_mkl.kernels[0].type"]').selectOption('PRECOMPUTED');
  await repair.selectOption('CLIP');
  await page.getByText('Rows to predict are treated alike').waitFor();
});

test('a path over folds has one line of stages, its curve, and the figures of its model', async () => {
  const model = await train('path', {
    learner: { svm: {} },
    validation: { folds: { count: 4 } },
    path: { option: 'C', values: [0.001, 0.01, 0.1, 1, 10] },
  });
  await page.goto(`${server.url}/${model.lineage?.job}`);
  const accuracy = Number(model.metrics?.find(({ name }) => name === 'folds.accuracy')?.value);
  const spread = Number(model.heldOut?.spreads?.find(({ name }) => name === 'folds.accuracy')?.standardDeviation);
  const tile = page.locator('.tile', { hasText: 'accuracy' }).first();
  await tile.getByText(`${(100 * accuracy).toFixed(2)} %`).waitFor();
  assert.match(await tile.innerText(), new RegExp(`± ${(100 * spread).toFixed(2)} % over the folds`));
  await page.getByRole('img', { name: /^accuracy for 5 values of C, best / }).waitFor();
  const stages = page.getByRole('list', { name: 'Stages' });
  const box = await stages.boundingBox();
  assert.ok((box?.height ?? 99) < 40, `stages are ${box?.height} high`);
  assert.ok((await stages.getByRole('listitem').count()) <= 6);
  await picture(page, '21-path-job');
});

test('the model shows which classes it confuses, and curves of each against the others', async () => {
  const model = await server.call<ModelVersion>('GET', '/v1/models/path:version');
  const { versions } = await server.call<{ versions: ModelVersion[] }>('GET', '/v1/models/-/versions');
  assert.ok(versions.every(({ heldOut }) => heldOut === undefined), 'lists leave it out');
  await page.goto(`${server.url}/models/path`);
  const matrix = page.getByRole('region', { name: 'Rows by true and predicted class' });
  await matrix.waitFor();
  const shown = (await matrix.getByRole('cell').allInnerTexts()).map(Number);
  assert.deepEqual(shown, model.heldOut?.confusion?.counts?.map(Number));
  assert.equal(shown.reduce((sum, count) => sum + count, 0), 300);
  const area = Number(model.heldOut?.curves?.[0]?.areaUnderRoc).toPrecision(3);
  await page.getByRole('img', { name: new RegExp(`^ROC: area under the curve setosa: ${Number(area)}`) }).waitFor();
  await page.getByRole('img', { name: /^Precision against recall/ }).waitFor();
  // No text of a picture is cut by its edge.
  const cut = await page.evaluate(() =>
    [...document.querySelectorAll('.xy > svg')].flatMap((svg) => {
      const frame = svg.getBoundingClientRect();
      return [...svg.querySelectorAll('text')].filter((text) => {
        const box = text.getBoundingClientRect();
        return box.left < frame.left - 0.5 || box.right > frame.right + 0.5 || box.bottom > frame.bottom + 0.5;
      });
    }).map((text) => text.textContent),
  );
  assert.deepEqual(cut, []);
  await picture(page, '22-quality');
});

test('a regression shows its residuals', async () => {
  const lines = flowers().split('\n');
  await server.upload('widths', 'width', new TextEncoder().encode(lines.join('\n')));
  await train('widths', { data: [{ dataset: 'datasets/widths' }], targetKind: 'TARGET_KIND_REGRESSION', learner: { kernelRidge: {} }, validation: { holdOut: { fraction: 0.25 } } });
  await page.goto(`${server.url}/models/widths`);
  await page.getByRole('img', { name: /^Residuals of 7\d rows against their predictions/ }).waitFor();
  await page.getByText(/7\d rows that were held out/).first().waitFor();
  await picture(page, '23-residuals');
});

test('models are searched, filtered, sorted and compared, six at most', async () => {
  for (const [index, C] of [0.1, 1, 10].entries()) await train(`svm-${index}`, { learner: { svm: { C } }, validation: { holdOut: { fraction: 0.25 } } });
  await page.goto(`${server.url}/models`);
  const names = async () => (await page.locator('tbody th a').allInnerTexts()).join(' ');
  await until(async () => (await names()) === 'path svm-0 svm-1 svm-2 widths', () => 'all models by name');
  await page.getByLabel('Search models').fill('svm-');
  await until(async () => (await names()) === 'svm-0 svm-1 svm-2', () => 'those that match');
  await page.getByRole('button', { name: 'Model', exact: false }).first().click();
  await until(async () => (await names()) === 'svm-2 svm-1 svm-0', () => 'the other way round');
  await page.getByLabel('Search models').fill('');
  await page.getByRole('button', { name: /^kernel_ridge/ }).click();
  await until(async () => (await names()) === 'widths', () => 'one learner');
  await page.getByRole('button', { name: /^all / }).click();
  for (const name of ['path', 'svm-0', 'svm-1']) await page.getByLabel(`Choose ${name}`).check();
  await picture(page, '24-models');
  await page.getByRole('link', { name: 'Compare 3' }).click();
  await page.getByRole('columnheader', { name: 'svm-1 · version 1' }).waitFor();
  assert.equal(await page.getByRole('columnheader').count(), 4);
  await picture(page, '25-compare');
});

test('several models are deleted together, and one with an alias stands in the way', async () => {
  await server.call('PUT', '/v1/models/svm-0/aliases/live', { version: 'models/svm-0/versions/1' });
  await page.goto(`${server.url}/models?q=svm-`);
  await page.getByLabel('Choose all that are shown').check();
  await page.getByRole('button', { name: 'Delete 3' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('svm-0: @live points to version 1').waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Delete all 3 versions' }).isDisabled(), true);
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.getByLabel('Choose svm-0').uncheck();
  await page.getByRole('button', { name: 'Delete 2' }).click();
  await dialog.getByRole('button', { name: 'Delete all 2 versions' }).click();
  await dialog.waitFor({ state: 'detached' });
  const left = async () => (await server.call<{ models: ModelVersion[] }>('GET', '/v1/models')).models.map(({ name }) => name.split('/')[1]).join(' ');
  assert.equal(await left(), 'path svm-0 widths');
  await page.locator('tbody tr').nth(1).waitFor({ state: 'detached' });
});

test('on a phone nothing of this is wider than the screen', async () => {
  const phone = await openPage({ viewport: { width: 375, height: 780 }, hasTouch: true, isMobile: true });
  for (const [name, address] of [['model', '/models/path'], ['residuals', '/models/widths'], ['models', '/models']] as const) {
    await phone.page.goto(server.url + address);
    await phone.page.getByRole('heading', { level: 1 }).waitFor();
    await phone.page.locator('.connected.live').waitFor();
    const width = await phone.page.evaluate(() => document.documentElement.scrollWidth);
    await picture(phone.page, `26-phone-${name}`);
    assert.ok(width <= 375, `${address} is ${width} wide`);
  }
  await phone.close();
  assert.deepEqual(complaints, []);
});

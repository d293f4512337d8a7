// Every page on a phone, in the dark, and by keyboard alone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { FakeServer } from '../fake/fake_server.mjs';
import { closeBrowser, openPage, picture } from './support.ts';

const fake = new FakeServer({ runningJobs: 2 });
let url = '';

before(async () => {
  url = await fake.start();
});

after(async () => {
  await closeBrowser();
  await fake.stop();
});

const PAGES: [string, string, string][] = [
  ['jobs', '/jobs', 'Jobs'],
  ['job', '/jobs/sim00', 'sim00'],
  ['train', '/train?dataset=spambase', 'New training'],
  ['models', '/models', 'Models'],
  ['model', '/models/spam/versions/1', 'spam'],
  ['compare', '/compare?a=models/spam/versions/1&b=models/flowers/versions/1', 'Compare models'],
  ['datasets', '/datasets', 'Data'],
  ['dataset', '/datasets/spambase', 'spambase'],
  ['upload', '/upload', 'Upload a file'],
];

test('no page is wider than a phone, and none is without its heading, in light and dark', { timeout: 180_000 }, async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, complaints, close } = await openPage({ viewport: { width: 375, height: 780 }, colorScheme, hasTouch: true, isMobile: true });
    for (const [name, path, heading] of PAGES) {
      await page.goto(url + path);
      await page.getByRole('heading', { level: 1, name: heading }).waitFor();
      await page.locator('.connected.live').waitFor();
      if (name === 'job') await page.getByRole('img', { name: /^Objective / }).waitFor();
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= 375, `${path} is ${width} wide`);
      assert.equal(await page.locator('nav[aria-label="Main"] a[aria-current]').count(), 1, `${path} belongs to one section`);
      await picture(page, `phone-${colorScheme}-${name}`);
    }
    assert.deepEqual(complaints, []);
    await close();
  }
});

/** WCAG's contrast of two colours. */
function contrast(a: number[], b: number[]): number {
  const luminance = (rgb: number[]) => {
    const [red = 0, green = 0, blue = 0] = rgb.map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

test('text has enough contrast in both themes', async () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page, close } = await openPage({ colorScheme });
    await page.goto(`${url}/jobs`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    const pairs = [['--text', '--surface'], ['--muted', '--surface'], ['--muted', '--ground'], ['--accent', '--surface'], ['--accent', '--accent-soft'], ['--accent-text', '--accent'], ['--good', '--good-soft'], ['--bad', '--bad-soft'], ['--warn', '--warn-soft'], ['--muted', '--sunken']];
    for (const [text = '', ground = ''] of pairs) {
      const colours = await page.evaluate(
        (names) =>
          names.map((name) => {
            const element = document.createElement('i');
            element.style.color = `var(${name})`;
            document.body.append(element);
            const colour = getComputedStyle(element).color;
            element.remove();
            return (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
          }),
        [text, ground],
      );
      const ratio = contrast(colours[0] ?? [], colours[1] ?? []);
      assert.ok(ratio >= 4.5, `${text} on ${ground}, ${colorScheme}: ${ratio.toFixed(2)}`);
    }
    await close();
  }
});

test('a training is started with the keyboard alone', async () => {
  const { page, close } = await openPage();
  await page.goto(`${url}/jobs`);
  await page.getByRole('heading', { level: 1, name: 'Jobs' }).waitFor();
  const tabTo = async (wanted: string) => {
    for (let presses = 0; presses < 80; ++presses) {
      await page.keyboard.press('Tab');
      const focused = await page.evaluate(() => document.activeElement?.textContent || document.activeElement?.getAttribute('data-path') || '');
      if (focused === wanted) return;
    }
    assert.fail(`Tab does not lead to ${wanted}`);
  };
  await tabTo('New training');
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement ?? document.body).outlineStyle);
  assert.equal(outline, 'solid', 'the focus is visible');
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'New training' }).waitFor();
  await page.locator('[data-path="data"]').focus();
  await page.keyboard.press('s');
  await page.getByText(/^at most /).waitFor();
  await tabTo('Start training');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/jobs\/new1/);
  await page.getByRole('button', { name: 'Cancel' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await close();
});

test('every control has a name, and every picture says what it shows', async () => {
  const { page, close } = await openPage();
  for (const [, path] of PAGES) {
    await page.goto(url + path);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.locator('.connected.live').waitFor();
    const nameless = await page.evaluate(() => {
      const named = (element: Element) =>
        element.getAttribute('aria-label') || element.textContent?.trim() || (element as HTMLInputElement).labels?.[0]?.textContent?.trim();
      return [...document.querySelectorAll('a, button, input, select, textarea, [role="img"], [role="progressbar"]')].filter((element) => !named(element)).map((element) => element.outerHTML);
    });
    assert.deepEqual(nameless, [], path);
    const unreached = await page.evaluate(() => [...document.querySelectorAll<HTMLElement>('.scroll')].filter((element) => element.tabIndex < 0 || !element.ariaLabel).length);
    assert.equal(unreached, 0, `${path}: what goes on to the right is reached by the keyboard`);
  }
  await close();
});

test('the theme that was chosen stays', async () => {
  const { page, close } = await openPage({ colorScheme: 'light' });
  await page.goto(url);
  const button = page.getByRole('button', { name: /^Colours/ });
  await button.click();
  await button.click();
  assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
  await page.reload();
  await button.waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset['theme']), 'dark');
  await close();
});

// Measures the dashboard in headless Chromium: the first paint, and how smooth it stays while twenty jobs run at four events per second
// each. Figures are printed, nothing is judged: they depend on the machine.
//
//   npm run measure -- [URL]     URL: of a running server, whose first paint is measured too
import { chromium } from 'playwright-core';
import { FakeServer } from '../tests/fake/fake_server.mjs';

const SECONDS = 15;
const PAINTS = 5;

async function firstPaint(browser, url) {
  const times = [];
  for (let index = 0; index < PAINTS; ++index) {
    const page = await browser.newPage();
    await page.goto(url);
    await page.getByRole('heading', { level: 1 }).or(page.getByRole('heading', { level: 2 })).first().waitFor();
    times.push(await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0].startTime));
    await page.close();
  }
  times.sort((a, b) => a - b);
  console.log(`first contentful paint of ${url}: median ${times[2].toFixed(0)} ms, worst ${times.at(-1).toFixed(0)} ms of ${PAINTS}`);
}

async function smoothness(browser, url, path) {
  const page = await browser.newPage();
  const session = await page.context().newCDPSession(page);
  await page.goto(url + path);
  await page.locator('.connected.live').waitFor();
  await session.send('Performance.enable');
  const busy = async () => (await session.send('Performance.getMetrics')).metrics.find((metric) => metric.name === 'TaskDuration').value;
  const before = await busy();
  const tasks = await page.evaluate(
    (seconds) =>
      new Promise((resolve) => {
        const found = [];
        new PerformanceObserver((list) => found.push(...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask' });
        setTimeout(() => resolve(found), seconds * 1000);
      }),
    SECONDS,
  );
  const share = ((await busy()) - before) / SECONDS;
  const longest = tasks.length > 0 ? `longest ${Math.max(...tasks)} ms` : 'none';
  console.log(`${path} for ${SECONDS} s: tasks above 50 ms: ${tasks.length} (${longest}); main thread busy ${(100 * share).toFixed(1)} %`);
  await page.close();
}

const browser = await chromium.launch({ executablePath: process.env.MERCER_CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const fake = new FakeServer({ runningJobs: 20, eventsPerSecond: 4 });
const url = await fake.start();
if (process.argv[2]) await firstPaint(browser, process.argv[2]);
await firstPaint(browser, url);
await smoothness(browser, url, '/jobs');
await smoothness(browser, url, '/jobs/sim00');
await browser.close();
await fake.stop();

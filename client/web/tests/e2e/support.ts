// A real server, a real browser, and pictures of what it shows, in build/dashboard-screenshots.
import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import type { Job } from '../../src/api/types.ts';

const ROOT = path.resolve(process.cwd(), '../..');
const BIN = process.env['MERCER_BIN'] ?? path.join(ROOT, 'build/release/bin');
const PICTURES = path.join(ROOT, 'build/dashboard-screenshots');
export const SPAMBASE = path.join(ROOT, 'demo/data/spambase.csv.gz');
export const PATIENCE = 60_000;

export class Server {
  readonly folder = mkdtempSync(path.join(tmpdir(), 'mercer-dashboard.'));
  url = '';
  /** Whose calls `call` and `upload` make. */
  token = '';
  private process: ChildProcess | undefined;
  private address = '127.0.0.1:0';

  constructor(private readonly flags: string[] = []) {}

  /** Starts it, or starts it again on the same port and data. */
  async start(): Promise<void> {
    const data = path.join(this.folder, 'data');
    rmSync(path.join(data, 'http_port'), { force: true });
    const log = openSync(path.join(this.folder, 'log'), 'a');
    const flags = ['--data-dir', data, '--listen', '127.0.0.1:0', '--http', this.address, '--workers', '2', '--threads', '1', ...this.flags];
    this.process = spawn(path.join(BIN, 'mercer-server'), flags, { stdio: ['ignore', log, log] });
    closeSync(log);
    await until(() => existsSync(path.join(data, 'http_port')) && readFileSync(path.join(data, 'http_port'), 'utf8').trim() !== '', () => this.log());
    this.address = `127.0.0.1:${readFileSync(path.join(data, 'http_port'), 'utf8').trim()}`;
    this.url = `http://${this.address}`;
    await until(async () => (await fetch(`${this.url}/readyz`).catch(() => undefined))?.ok ?? false, () => this.log());
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.process?.once('exit', resolve));
    this.process?.kill('SIGTERM');
    await ended;
  }

  async remove(): Promise<void> {
    if (this.process?.exitCode === null) {
      const ended = new Promise((resolve) => this.process?.once('exit', resolve));
      this.process.kill('SIGKILL');
      await ended;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }

  log(): string {
    return readFileSync(path.join(this.folder, 'log'), 'utf8').slice(-3000);
  }

  async call<T>(method: string, name: string, body?: unknown): Promise<T> {
    const options = { method, headers: { 'Content-Type': 'application/json', ...this.authorization() }, ...(body === undefined ? {} : { body: JSON.stringify(body) }) };
    const response = await fetch(this.url + name, options);
    const text = await response.text();
    assert.ok(response.ok, `${method} ${name}: ${text}`);
    return JSON.parse(text) as T;
  }

  /** Waits until a job has succeeded. */
  async finish(job: string): Promise<Job> {
    let now: Job | undefined;
    await until(async () => {
      now = await this.call<Job>('GET', `/v1/${job}`);
      return ['JOB_STATE_SUCCEEDED', 'JOB_STATE_FAILED'].includes(now.state ?? '');
    }, () => JSON.stringify(now));
    assert.equal(now?.state, 'JOB_STATE_SUCCEEDED', JSON.stringify(now?.error));
    return now as Job;
  }

  private authorization(): Record<string, string> {
    return this.token ? { Authorization: `Bearer ${this.token}` } : {};
  }

  async upload(id: string, target: string, bytes: Uint8Array): Promise<void> {
    const response = await fetch(`${this.url}/v1/datasets:upload?datasetId=${id}&target=${target}`, {
      method: 'POST',
      headers: { 'Content-Type': 'text/csv', 'X-Mercer': '1', ...this.authorization() },
      body: new Blob([new Uint8Array(bytes)]),
    });
    assert.ok(response.ok, await response.text());
  }
}

/** Two lines: the one for the server's file of tokens, and the token. */
export function makeToken(folder: string, name: string, scopes: string): { line: string; token: string } {
  const file = path.join(folder, `${name}.token`);
  const line = execFileSync(path.join(BIN, 'mercer-server'), ['token', '--name', name, '--scopes', scopes, '--token-out', file], { encoding: 'utf8' });
  return { line, token: readFileSync(file, 'utf8').trim() };
}

export async function until(done: () => boolean | Promise<boolean>, what: () => string): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await done())) {
    assert.ok(Date.now() < end, `waited in vain: ${what()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** 300 rows of three kinds that width and height tell apart, and noise does not. The same on every run. */
export function flowers(): string {
  let state = 7;
  const random = () => (state = (state * 48271) % 2147483647) / 2147483647;
  const normal = () => Math.sqrt(-2 * Math.log(random())) * Math.cos(2 * Math.PI * random());
  const kinds = ['setosa', 'versicolor', 'virginica'];
  const lines = Array.from({ length: 300 }, (_, row) => {
    const kind = row % 3;
    const numbers = [kind + 0.6 * normal(), 0.7 * normal() - kind, normal()].map((value) => value.toFixed(3));
    return [...numbers, ['red', 'green', 'blue'][Math.floor(3 * random())], kinds[kind]].join(',');
  });
  return ['width,height,noise,colour,kind', ...lines, ''].join('\n');
}

let browser: Browser | undefined;

/** A page in a session of its own. What the browser complains of, as a blocked script, is in `complaints`. */
export async function openPage(options: BrowserContextOptions = {}): Promise<{ page: Page; complaints: string[]; close: () => Promise<void> }> {
  // Tests may run as root, for whom the browser's own sandbox does not start.
  browser ??= await chromium.launch({ executablePath: process.env['MERCER_CHROMIUM'] ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // A server that is not there, or refuses, is told by the page itself.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) complaints.push(message.text());
  });
  return { page, complaints, close: () => context.close() };
}

export async function closeBrowser(): Promise<void> {
  await browser?.close();
  browser = undefined;
}

export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES, { recursive: true });
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: path.join(PICTURES, `${name}.png`), fullPage: true });
}

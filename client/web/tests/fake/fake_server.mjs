// A stand-in for the gateway, for what a real server cannot be made to do on demand: many jobs with an exact rate of events, broken
// connections, refusals. Answers are recordings of a real server (tests/fixtures), in protobuf's JSON mapping.
import { createReadStream } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { SimulatedJob } from './simulated_job.mjs';

// Tests bundle this file, so folders are found from client/web, where npm runs everything.
const root = process.cwd();
const site = path.join(root, '../../build/web');
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml' };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

async function fixture(name) {
  return JSON.parse(await readFile(path.join(root, 'tests/fixtures', name), 'utf8'));
}

export class FakeServer {
  constructor(options = {}) {
    this.token = options.token;
    this.runningJobs = options.runningJobs ?? 0;
    this.eventsPerSecond = options.eventsPerSecond ?? 4;
    this.streams = new Set();
    this.requests = [];
    this.refuseStreams = 0;
    this.trained = 0;
  }

  async start(port = 0) {
    this.learners = await fixture('learners.json');
    this.datasets = await fixture('datasets.json');
    this.models = await fixture('models.json');
    this.aliases = await fixture('aliases.json');
    this.jobs = new Map();
    for (const { job, events } of await fixture('jobs.json')) this.jobs.set(job.name, { job, events });
    for (let index = 0; index < this.runningJobs; ++index) {
      const simulated = new SimulatedJob(`sim${String(index).padStart(2, '0')}`);
      this.jobs.set(simulated.job.name, simulated);
    }
    this.server = createServer((request, response) => void this.handle(request, response));
    await new Promise((resolve) => this.server.listen(port, '127.0.0.1', resolve));
    this.timer = setInterval(() => this.tick(), 1000 / this.eventsPerSecond);
    return `http://127.0.0.1:${this.server.address().port}`;
  }

  async stop() {
    clearInterval(this.timer);
    this.breakStreams();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  breakStreams() {
    for (const stream of this.streams) stream.response.destroy();
    this.streams.clear();
  }

  tick() {
    for (const entry of this.jobs.values()) {
      if (!entry.step) continue;
      const event = entry.step();
      if (!event) continue;
      for (const stream of this.streams) {
        if (stream.jobs.has(entry.job.name)) write(stream.response, 'progress', { job: entry.job.name, event });
        write(stream.response, 'job', { job: entry.job });
      }
    }
  }

  async handle(request, response) {
    const url = new URL(request.url, 'http://fake');
    this.requests.push({ method: request.method, path: url.pathname, query: url.search });
    if (!url.pathname.startsWith('/v1/')) return this.file(url.pathname, response);
    if (url.pathname === '/v1/server') return json(response, { version: '0.1.0', started: new Date(0).toISOString(), tokens: Boolean(this.token), learners: 3 });
    if (this.token && request.headers.authorization !== `Bearer ${this.token}`) return refuse(response, 401, 'UNAUTHENTICATED', 'a token is needed', 'NO_TOKEN');
    const body = await readBody(request);
    if (url.pathname === '/v1/events') return this.events(url, response);
    return this.call(request.method, url.pathname.slice('/v1/'.length), body, response);
  }

  events(url, response) {
    if (this.refuseStreams > 0) {
      --this.refuseStreams;
      return refuse(response, 503, 'UNAVAILABLE', 'too many event streams', 'TOO_MANY_STREAMS', [], { 'Retry-After': '1' });
    }
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' });
    const stream = { response, jobs: new Set() };
    for (const { job } of this.jobs.values()) write(response, 'job', { job, existing: true });
    write(response, 'existing', { existingSent: true });
    for (const watched of url.searchParams.getAll('job')) this.replay(stream, watched);
    this.streams.add(stream);
    response.on('close', () => this.streams.delete(stream));
    return undefined;
  }

  replay(stream, watched) {
    const [name, after] = watched.split(':');
    const entry = this.jobs.get(name);
    if (!entry) {
      write(stream.response, 'error', { job: name, error: { code: 404, status: 'NOT_FOUND', message: `there is no job ${name}` } });
      return;
    }
    for (const event of entry.events.filter((event) => Number(event.sequence) > Number(after))) write(stream.response, 'progress', { job: name, event });
    if (entry.step) stream.jobs.add(name);
    else write(stream.response, 'end', { job: name });
  }

  call(method, name, body, response) {
    const [collection] = name.split(/[/:]/);
    if (name === 'learners') return json(response, this.learners);
    if (name === 'jobs:estimate') return this.estimate(body, response);
    if (method === 'POST' && name === 'jobs') return this.train(body, response);
    if (collection === 'jobs') return this.oneJob(name, response);
    if (collection === 'datasets') return this.resource(name, 'datasets', this.datasets, response);
    if (name.endsWith(':evaluate')) return fixture('evaluation.json').then((value) => json(response, value));
    if (name.endsWith(':predict')) return fixture('prediction.json').then((value) => json(response, value));
    if (/\/aliases(\/|$)/.test(name)) return json(response, this.aliases[name] ?? {});
    if (name === 'models') return json(response, { models: this.models.map((newestVersion) => ({ newestVersion })) });
    if (name.endsWith('/versions')) return json(response, { versions: this.models.filter((each) => `${name}/` === each.name.replace(/[^/]*$/, '')) });
    const newestVersion = this.models.find((each) => each.name.startsWith(`${name}/`));
    if (newestVersion && method === 'GET') return json(response, { name, etag: '1-1', newestVersion });
    if (collection === 'models') return this.resource(name.replace(/:version$/, ''), 'models', this.models, response);
    return refuse(response, 404, 'NOT_FOUND', `there is no ${name}`);
  }

  resource(name, collection, all, response) {
    if (name === collection) return json(response, { [collection]: all });
    const found = all.find((value) => value.name === name || value.name.startsWith(`${name}/`));
    return found ? json(response, found) : refuse(response, 404, 'NOT_FOUND', `there is no ${name}`);
  }

  violationsOf(training, prefix) {
    const gap = training.stopping?.relativeGap;
    const violations = [];
    if (gap !== undefined && !(gap > 0 && gap < 1)) violations.push({ field: `${prefix}stopping.relative_gap`, description: `${gap} is outside (0, 1)` });
    return violations;
  }

  estimate(body, response) {
    const violations = this.violationsOf(body.training, 'training.');
    if (violations.length > 0) return refuse(response, 400, 'INVALID_ARGUMENT', violations[0].description, 'BAD_FIELDS', violations);
    return json(response, { memoryBytes: '442110632', time: '42s', memoryBudgetBytes: '12884901888', fits: true });
  }

  train(body, response) {
    const violations = this.violationsOf(body, '');
    if (violations.length > 0) return refuse(response, 400, 'INVALID_ARGUMENT', violations[0].description, 'BAD_FIELDS', violations);
    const simulated = new SimulatedJob(`new${++this.trained}`, body);
    this.jobs.set(simulated.job.name, simulated);
    return json(response, simulated.job);
  }

  oneJob(name, response) {
    const [job, verb] = name.split(':');
    const entry = this.jobs.get(job);
    if (!entry) return refuse(response, 404, 'NOT_FOUND', `there is no job ${job}`, 'JOB_NOT_FOUND');
    if (verb) entry.end(verb === 'stop' ? 'JOB_STATE_SUCCEEDED' : 'JOB_STATE_CANCELLED');
    return json(response, entry.job);
  }

  async file(name, response) {
    const asked = path.join(site, path.normalize(name));
    const found = await stat(asked).catch(() => undefined);
    const file = found?.isFile() ? asked : path.join(site, 'index.html');
    response.writeHead(200, { 'Content-Type': TYPES[path.extname(file)] ?? 'application/octet-stream', 'Content-Security-Policy': CSP });
    createReadStream(file).pipe(response);
  }
}

function write(response, event, data) {
  response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
}

function json(response, value) {
  response.writeHead(200, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify(value));
}

function refuse(response, code, status, message, reason = '', fieldViolations = [], headers = {}) {
  const details = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'mercer' }];
  if (fieldViolations.length > 0) details.push({ '@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations });
  response.writeHead(code, { 'Content-Type': 'application/json', ...headers });
  response.end(JSON.stringify({ error: { code, status, message, details } }));
}

async function readBody(request) {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const text = Buffer.concat(pieces).toString();
  return text && request.headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : {};
}

// Bundles every tests/**/*.test.ts and runs them with node's own test runner.
import { spawnSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.join(here, '../../build/web-tests');

const sources = (await readdir(path.join(here, 'tests'))).filter((name) => name.endsWith('.test.ts'));
await rm(folder, { recursive: true, force: true });
await build({
  absWorkingDir: here,
  entryPoints: sources.map((name) => `tests/${name}`),
  outdir: folder,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: ['node18'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  sourcemap: 'inline',
  logLevel: 'warning',
});
const programs = sources.map((name) => path.join(folder, name.replace(/\.ts$/, '.mjs')));
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...programs], { stdio: 'inherit' });
process.exit(run.status ?? 1);

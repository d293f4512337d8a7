// Bundles the *.test.ts of a folder and runs them with node's own test runner.
//
//   node scripts/test.mjs tests|tests/e2e
import { spawnSync } from 'node:child_process';
import { readdir, rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = process.argv[2] ?? 'tests';
// Beneath node_modules, so that packages that are not bundled are found.
const bundles = path.join(here, 'node_modules/.mercer-tests', folder.replaceAll('/', '-'));

const sources = (await readdir(path.join(here, folder))).filter((name) => name.endsWith('.test.ts'));
await rm(bundles, { recursive: true, force: true });
await build({
  absWorkingDir: here,
  entryPoints: sources.map((name) => `${folder}/${name}`),
  outdir: bundles,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: ['node18'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  external: ['playwright-core'],
  sourcemap: 'inline',
  logLevel: 'warning',
});
const programs = sources.map((name) => path.join(bundles, name.replace(/\.ts$/, '.mjs')));
const run = spawnSync(process.execPath, ['--enable-source-maps', '--test', ...programs], { cwd: here, stdio: 'inherit' });
process.exit(run.status ?? 1);

// Builds the dashboard: build/web/index.html and build/web/assets/NAME-HASH.{js,css,svg}, all of it served by mercer-server itself.
//
//   node scripts/build.mjs [FOLDER]     FOLDER: build/web of the repository when absent
import { createHash } from 'node:crypto';
import { mkdir, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const folder = path.resolve(process.argv[2] ?? path.join(here, '../../build/web'));

async function bundle() {
  const result = await build({
    absWorkingDir: here,
    entryPoints: ['src/main.tsx', 'src/styles/main.css'],
    entryNames: 'assets/[name]-[hash]',
    outdir: folder,
    bundle: true,
    format: 'esm',
    target: ['es2022'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
  });
  const files = new Map();
  for (const file of result.outputFiles) files.set(path.relative(folder, file.path), Buffer.from(file.contents));
  return files;
}

async function icon() {
  const bytes = await readFile(path.join(here, 'src/icon.svg'));
  return [`assets/icon-${createHash('sha256').update(bytes).digest('hex').slice(0, 8)}.svg`, bytes];
}

function named(files, prefix, suffix) {
  return [...files.keys()].find((name) => name.startsWith(`assets/${prefix}-`) && name.endsWith(suffix));
}

async function page(files) {
  const template = await readFile(path.join(here, 'src/index.html'), 'utf8');
  return Buffer.from(
    template
      .replace('{{style}}', named(files, 'main', '.css'))
      .replace('{{script}}', named(files, 'main', '.js'))
      .replace('{{icon}}', named(files, 'icon', '.svg')),
  );
}

// Files that are the same already keep their time, so that nothing that depends on them is made again.
async function store(files) {
  await mkdir(path.join(folder, 'assets'), { recursive: true });
  for (const [name, bytes] of files) {
    const old = await readFile(path.join(folder, name)).catch(() => undefined);
    if (!old?.equals(bytes)) await writeFile(path.join(folder, name), bytes);
  }
  for (const name of await readdir(path.join(folder, 'assets'))) {
    if (!files.has(`assets/${name}`)) await rm(path.join(folder, 'assets', name));
  }
}

const files = await bundle();
files.set(...(await icon()));
files.set('index.html', await page(files));
await store(files);
let compressed = 0;
for (const bytes of files.values()) compressed += gzipSync(bytes, { level: 9 }).length;
console.log(`dashboard: ${files.size} files, ${(compressed / 1000).toFixed(1)} kB compressed, in ${path.relative(process.cwd(), folder)}`);

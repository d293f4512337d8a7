// The description of an upload, from what the file's first lines show and the user says.
import type { UploadHeader } from '../api/dataset_types.ts';
import type { ColumnRole } from '../api/schema.ts';
import { guessDelimiter, splitCsvLine } from '../lib/csv.ts';

export interface UploadForm {
  id: string;
  format: 'csv' | 'svmlight';
  delimiter: string;
  hasHeader: boolean;
  /** Of svmlight: the name of its target. */
  target: string;
  /** By name of column; columns that are not named are features. */
  roles: Record<string, Role>;
  allowMissing: boolean;
}

export const ROLES = ['feature', 'target', 'ignored', 'group', 'weight', 'split', 'task'] as const;
export type Role = (typeof ROLES)[number];

/** What a role does, for people. */
export const ROLE_WORDS: Record<Role, string> = {
  feature: 'is learned from',
  target: 'is to be predicted',
  ignored: 'is not kept',
  group: 'rows of one value stay together in every split',
  weight: 'how often a row counts',
  split: 'says which rows are held out, or their folds',
  task: 'says which task a row is of',
};

export interface Preview {
  delimiter: string;
  names: string[];
  rows: string[][];
}

/** Lines like "+1 3:0.5 7:1". */
export function looksLikeSvmlight(text: string): boolean {
  const lines = text.split(/\r?\n/).filter(Boolean).slice(0, 5);
  return lines.length > 0 && lines.every((line) => /^\S+(\s+\d+:\S+)+\s*(#.*)?$/.test(line));
}

export function previewOf(text: string, hasHeader: boolean): Preview {
  const lines = text.split(/\r?\n/).filter(Boolean).slice(0, 6);
  const delimiter = guessDelimiter(lines[0] ?? '');
  const cells = lines.map((line) => splitCsvLine(line, delimiter));
  const first = cells[0] ?? [];
  const names = hasHeader ? first : first.map((_, index) => `c${index + 1}`);
  return { delimiter, names, rows: (hasHeader ? cells.slice(1) : cells).slice(0, 5) };
}

/** "Mail data (2).csv.gz" -> "mail-data-2". */
export function idFromFile(name: string): string {
  const stem = name.toLowerCase().replace(/\.(csv|tsv|txt|svm|svmlight|libsvm|data)?(\.gz)?$/, '');
  return stem.replace(/[^a-z0-9_-]+/g, '-').replace(/^[^a-z0-9]+|-+$/g, '').slice(0, 63);
}

const USUAL_TARGETS = ['target', 'label', 'class', 'y', 'outcome'];

/** The column with a usual name, or the last one. */
export function guessTarget(names: string[]): string {
  return names.find((name) => USUAL_TARGETS.includes(name.toLowerCase())) ?? names.at(-1) ?? '';
}

/** What the form says of a column; a name like "constructor" is no member of `roles` before it is given one. */
export function roleOf(roles: Record<string, Role>, name: string): Role {
  return Object.hasOwn(roles, name) ? (roles[name] ?? 'feature') : 'feature';
}

/** The first column that is to be predicted; empty: none. */
export function targetOf(roles: Record<string, Role>): string {
  return Object.keys(roles).find((name) => roles[name] === 'target') ?? '';
}

/** The same roles with another column to be predicted, or with none. */
export function withTarget(roles: Record<string, Role>, target: string): Record<string, Role> {
  const others = Object.entries(roles).filter(([name, role]) => role !== 'target' && name !== target);
  return Object.fromEntries(target ? [...others, [target, 'target' as const]] : others);
}

export function uploadHeader(form: UploadForm, file: { name: string; size: number }): UploadHeader {
  const common = { displayName: file.name, totalBytes: String(file.size), ...(form.id ? { datasetId: form.id } : {}) };
  if (form.format === 'svmlight') return { ...common, parts: [{ svmlight: form.target ? { targetName: form.target } : {} }] };
  const given = Object.entries(form.roles).filter(([, role]) => role !== 'feature');
  const roles = Object.fromEntries(given.map(([name, role]) => [name, `COLUMN_ROLE_${role.toUpperCase()}` as ColumnRole]));
  return {
    ...common,
    parts: [
      {
        csv: {
          ...(form.delimiter === ',' ? {} : { delimiter: form.delimiter }),
          ...(form.hasHeader ? {} : { noHeader: true }),
          ...(Object.keys(roles).length > 0 ? { roles } : {}),
          ...(form.allowMissing ? { allowMissing: true } : {}),
        },
      },
    ],
  };
}

/** Where the form has a field for what the service names. */
export const UPLOAD_PATHS: ReadonlySet<string> = new Set(['dataset_id', 'parts[0].csv.delimiter', 'parts[0].csv.roles', 'parts[0].csv.allow_missing', 'parts[0].svmlight.target_name']);

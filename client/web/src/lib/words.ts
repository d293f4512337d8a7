// What people say of a model, a version, a job or a data set, and how a form changes it.
import type { Labels, Words } from '../api/types.ts';

export const FIELDS = ['displayName', 'description'] as const;
export type Field = (typeof FIELDS)[number];

export const FIELD_WORDS: Record<Field, string> = { displayName: 'name', description: 'description' };

export interface LabelRow {
  key: string;
  value: string;
}

/** What a form holds while it is filled in. */
export interface Draft extends Record<Field, string> {
  rows: LabelRow[];
}

/** By which the Python package finds what it has uploaded: nobody sees or edits it. */
const CONTENT_LABEL = 'content';

export function labelsText(labels: Labels | undefined): string {
  return rowsOf(labels).map(({ key, value }) => `${key}=${value}`).join(', ');
}

function rowsOf(labels: Labels = {}): LabelRow[] {
  return Object.keys(labels).sort().map((key) => ({ key, value: labels[key] ?? '' }));
}

export function draftOf(words: Words): Draft {
  return { displayName: words.displayName ?? '', description: words.description ?? '', rows: rowsOf(words.labels) };
}

/** A row without a key is none. Throws when two have the same key, of which only one would stay. */
export function labelsOf(rows: LabelRow[]): Labels {
  const labels = new Map<string, string>();
  for (const { key, value } of rows.map((row) => ({ key: row.key.trim(), value: row.value.trim() }))) {
    if (labels.has(key)) throw new Error(`Two labels have the key ${key}.`);
    if (key) labels.set(key, value);
    else if (value) throw new Error(`The label with the value ${value} has no key.`);
  }
  return Object.fromEntries(labels);
}

export function wordsOfDraft(draft: Draft): Words {
  return { displayName: draft.displayName.trim(), description: draft.description.trim(), labels: labelsOf(draft.rows) };
}

/** What of `after` differs from `before`, and nothing else: what somebody else has changed besides stays as he left it. */
export function changesOf(before: Words, after: Words): Words {
  const changes: Words = {};
  for (const field of FIELDS) if ((before[field] ?? '') !== (after[field] ?? '')) changes[field] = after[field] ?? '';
  if (JSON.stringify(rowsOf(before.labels)) !== JSON.stringify(rowsOf(after.labels))) changes.labels = after.labels ?? {};
  return changes;
}

/** "the name is now “Spam”, the labels are now team=red". */
export function changeWords(changes: Words): string {
  const lines = FIELDS.flatMap((field) => {
    const text = changes[field];
    return text === undefined ? [] : [text ? `the ${FIELD_WORDS[field]} is now “${text}”` : `there is no ${FIELD_WORDS[field]} any more`];
  });
  if (changes.labels) lines.push(Object.keys(changes.labels).length > 0 ? `the labels are now ${labelsText(changes.labels)}` : 'there are no labels any more');
  return lines.join(', ');
}

/** The labels of a data set that people have given it. */
export function givenLabels(labels: Labels = {}): Labels {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => key !== CONTENT_LABEL));
}

/** `given` in place of those; what is not theirs stays. Throws when it would be theirs. */
export function withGivenLabels(labels: Labels = {}, given: Labels): Labels {
  if (CONTENT_LABEL in given) throw new Error(`The label ${CONTENT_LABEL} is that by which the Python package finds data; take another key.`);
  const { [CONTENT_LABEL]: content } = labels;
  return content === undefined ? given : { ...given, [CONTENT_LABEL]: content };
}

// Names, descriptions and labels, and the form that changes them. What somebody else has changed meanwhile is shown, not overwritten.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/error.ts';
import type { Words } from '../api/types.ts';
import { changesOf, changeWords, type Draft, draftOf, type Field, FIELD_WORDS, type LabelRow, wordsOfDraft } from '../lib/words.ts';
import { Refusal, useAction } from './action.tsx';
import { Definitions, Failure, Panel } from './parts.tsx';

interface Props {
  title: string;
  words: Words;
  /** That it has beside labels. */
  fields: readonly Field[];
  /** As it is now, for the page too. */
  load: () => Promise<Words>;
  /** `changes` has what is to be another than it was, and nothing else beside the etag. */
  save: (changes: Words) => Promise<unknown>;
}

interface Editing {
  /** What the draft was made of: what differs from it is what is saved. */
  base: Words;
  /** What the server was last seen to have. */
  known: Words;
  draft: Draft;
  /** What somebody else has made of it since. */
  theirs?: Words;
}

export function WordsPanel({ title, words, fields, load, save }: Props) {
  const [editing, setEditing] = useState<Editing | undefined>();
  const [saved, setSaved] = useState(false);
  const action = useAction();
  const toggle = useRef<HTMLButtonElement>(null);
  const begin = (base: Words) => {
    setSaved(false);
    action.forget();
    setEditing({ base, known: base, draft: draftOf(base) });
  };
  const end = () => {
    setEditing(undefined);
    action.forget();
    toggle.current?.focus();
  };
  const leave = () => action.running || end();
  const submit = ({ base, known, draft }: Editing) =>
    void action.run(async () => {
      // What the form trims is no change.
      const changes = changesOf(wordsOfDraft(draftOf(base)), wordsOfDraft(draft));
      if (!isEmpty(changes)) {
        const theirs = await saveUnlessChanged(changes, known, load, save);
        if (theirs) return setEditing({ base, known, draft, theirs });
        // What is saved stays so when this read of it fails.
        await load().catch(() => undefined);
      }
      setSaved(true);
      return end();
    });
  return (
    <Panel
      title={title}
      aside={
        <button ref={toggle} type="button" class="button small" aria-expanded={editing !== undefined} disabled={action.forbidden && !editing} onClick={() => (editing ? leave() : begin(words))}>
          {editing ? 'Go back' : 'Edit'}
          <span class="hidden-label"> {title}</span>
        </button>
      }
    >
      {editing ? (
        <>
          <WordsForm
            fields={fields}
            draft={editing.draft}
            change={(draft) => setEditing({ ...editing, draft })}
            saving={action.running}
            blocked={action.forbidden || editing.theirs !== undefined}
            submit={() => submit(editing)}
            leave={leave}
          />
          {editing.theirs ? <Conflict {...editing} take={begin} keep={(theirs) => submit({ ...editing, known: theirs })} /> : null}
          <Failure error={action.error} />
        </>
      ) : (
        <>
          <Shown words={words} fields={fields} />
          <Refusal action={action} />
        </>
      )}
      <p class="sub" role="status">
        {action.running ? 'Saving…' : saved ? 'Saved.' : ''}
      </p>
    </Panel>
  );
}

const isEmpty = (changes: Words) => Object.keys(changes).length === 0;

/** What somebody else has made of `known` since; nothing is saved then. */
async function saveUnlessChanged(changes: Words, known: Words, load: Props['load'], save: Props['save']): Promise<Words | undefined> {
  try {
    await save({ ...changes, etag: known.etag });
    return undefined;
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'STALE_ETAG') return load();
    throw error;
  }
}

function Shown({ words, fields }: { words: Words; fields: readonly Field[] }) {
  const labels = Object.entries(words.labels ?? {});
  const chips = labels.map(([key, value]) => (
    <span key={key} class="label">
      {key}={value}
    </span>
  ));
  return (
    <Definitions
      items={[...fields.map((field): [string, string] => [FIELD_WORDS[field], words[field] || '–']), ['labels', labels.length > 0 ? <span class="labels">{chips}</span> : '–']]}
    />
  );
}

function Conflict(props: { base: Words; theirs?: Words; take: (theirs: Words) => void; keep: (theirs: Words) => void }) {
  const theirs = props.theirs ?? {};
  const changes = changesOf(props.base, theirs);
  // The button that had the focus is no longer offered.
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => box.current?.focus(), []);
  return (
    <div ref={box} class="failure" role="alert" tabIndex={-1}>
      <p>Somebody else has changed this meanwhile{isEmpty(changes) ? '' : `: ${changeWords(changes)}`}. Nothing is saved yet, and what you have written is still here.</p>
      <p class="actions">
        <button type="button" class="button small" onClick={() => props.take(theirs)}>
          Take theirs
        </button>
        <button type="button" class="button small" onClick={() => props.keep(theirs)}>
          Save mine
        </button>
      </p>
    </div>
  );
}

interface FormProps {
  fields: readonly Field[];
  draft: Draft;
  change: (draft: Draft) => void;
  /** Nothing is written any more that would not be saved. */
  saving: boolean;
  blocked: boolean;
  submit: () => void;
  leave: () => void;
}

function WordsForm({ fields, draft, change, saving, blocked, submit, leave }: FormProps) {
  const form = useRef<HTMLFormElement>(null);
  const focus = (selector: string) => form.current?.querySelector<HTMLElement>(selector)?.focus();
  // Before the next key: a later one would take the focus from a field that has it already.
  useLayoutEffect(() => focus('input, textarea, button'), []);
  const added = useRef(false);
  useLayoutEffect(() => {
    if (added.current) focus('.label-row:has(+ .actions) input');
    added.current = false;
  }, [draft.rows.length]);
  const setRow = (index: number, row: Partial<LabelRow>) => change({ ...draft, rows: draft.rows.map((each, at) => (at === index ? { ...each, ...row } : each)) });
  const add = () => {
    added.current = true;
    change({ ...draft, rows: [...draft.rows, { key: '', value: '' }] });
  };
  const remove = (index: number) => {
    change({ ...draft, rows: draft.rows.filter((_, at) => at !== index) });
    focus('.add');
  };
  return (
    <form
      ref={form}
      class="words-form"
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
      onKeyDown={(event) => event.key === 'Escape' && leave()}
    >
      {fields.map((field) => (
        <label key={field} class="field">
          <span class="field-label capital">{FIELD_WORDS[field]}</span>
          {field === 'description' ? (
            <textarea rows={3} readOnly={saving} value={draft[field]} onInput={(event) => change({ ...draft, [field]: event.currentTarget.value })} />
          ) : (
            <input type="text" autocomplete="off" readOnly={saving} value={draft[field]} onInput={(event) => change({ ...draft, [field]: event.currentTarget.value })} />
          )}
        </label>
      ))}
      {draft.rows.map((row, index) => (
        <div key={index} class="label-row">
          {(['key', 'value'] as const).map((part) => (
            <input
              key={part}
              type="text"
              autocomplete="off"
              readOnly={saving}
              placeholder={part}
              aria-label={`${part} of label ${index + 1}`}
              value={row[part]}
              onInput={(event) => setRow(index, { [part]: event.currentTarget.value })}
            />
          ))}
          <button type="button" class="button small" disabled={saving} onClick={() => remove(index)}>
            <span aria-hidden="true">✕</span>
            <span class="hidden-label">Remove label {index + 1}</span>
          </button>
        </div>
      ))}
      <div class="actions">
        <button type="button" class="button small add" disabled={saving} onClick={add}>
          Add a label
        </button>
        <button type="submit" class="button small primary" disabled={blocked} aria-disabled={saving}>
          Save
        </button>
      </div>
    </form>
  );
}

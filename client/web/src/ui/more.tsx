// The first ones of a list, and a button that shows more of them.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { formatInteger } from '../lib/format.ts';

/** `note` says what is in the rest. */
export function useFirst<T>(all: T[], first: number, step = Infinity, note?: (rest: T[]) => string): [T[], ComponentChildren] {
  const [shown, setShown] = useState(first);
  const rest = all.slice(shown);
  const more = (
    <p class="more">
      <button type="button" class="button small" onClick={() => setShown(shown + step)}>
        Show {formatInteger(rest.length)} more
      </button>{' '}
      {note ? <span class="sub">{note(rest)}</span> : null}
    </p>
  );
  return [all.slice(0, shown), rest.length > 0 ? more : null];
}

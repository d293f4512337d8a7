// Above a list: one of a few words, each with how many it leaves, and a text to search for.

interface Props<T extends string> {
  label: string;
  choices: readonly T[];
  value: T;
  count: (choice: T) => number;
  choose: (choice: T) => void;
  search: string;
  placeholder: string;
  text: string;
  setText: (text: string) => void;
}

/** The choice '' is all of them. */
export function FilterBar<T extends string>({ label, choices, value, count, choose, search, placeholder, text, setText }: Props<T>) {
  return (
    <div class="filter-bar">
      <div class="chips" role="group" aria-label={label}>
        {choices.map((choice) => (
          <button key={choice} type="button" class="chip" aria-pressed={choice === value} onClick={() => choose(choice)}>
            {choice || 'all'} <span class="count">{count(choice)}</span>
          </button>
        ))}
      </div>
      <input type="search" class="search" placeholder={placeholder} aria-label={search} value={text} onInput={(event) => setText(event.currentTarget.value)} />
    </div>
  );
}

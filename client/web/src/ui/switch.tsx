// One of a few words.

interface SwitchProps<T extends string> {
  label: string;
  value: T;
  choices: T[];
  onChange: (value: T) => void;
}

export function Switch<T extends string>({ label, value, choices, onChange }: SwitchProps<T>) {
  return (
    <div class="switch" role="group" aria-label={label}>
      <span class="sub">{label}</span>
      {choices.map((choice) => (
        <button key={choice} type="button" aria-pressed={choice === value} onClick={() => onChange(choice)}>
          {choice}
        </button>
      ))}
    </div>
  );
}

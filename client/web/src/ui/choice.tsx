// A choice among a few, in a line with its label.

interface Props {
  label: string;
  /** It is for those alone who cannot see where it stands. */
  hidden?: boolean;
  value: string;
  choices: { value: string; text: string }[];
  onChange: (value: string) => void;
}

export function Choice({ label, hidden = false, value, choices, onChange }: Props) {
  return (
    <label class="inline-select">
      <span class={hidden ? 'hidden-label' : 'sub'}>{label}</span>
      <select value={value} onChange={(event) => onChange(event.currentTarget.value)}>
        {choices.map((choice) => (
          <option key={choice.value} value={choice.value} selected={choice.value === value}>
            {choice.text}
          </option>
        ))}
      </select>
    </label>
  );
}

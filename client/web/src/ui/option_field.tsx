// The input of one option of a learner, made from its description.
import type { OptionDescription } from '../api/types.ts';
import { SelectField, TextField } from './field.tsx';

interface Props {
  option: OptionDescription;
  path: string;
  value: string;
  /** What stands there while it is empty. */
  standard: string;
  /** Stands behind its meaning. */
  note: string;
  onChange: (value: string) => void;
}

export function OptionField({ option, path, value, standard, note, onChange }: Props) {
  const label = (
    <>
      {option.name}
      {option.unit ? <span class="unit"> ({option.unit})</span> : null}
    </>
  );
  const help = (
    <>
      <span>{option.meaning}</span> {note}
    </>
  );
  const common = { path, label, help, value, onChange };
  if (option.type === 'OPTION_TYPE_CHOICE' || option.type === 'OPTION_TYPE_BOOL') {
    const words = option.type === 'OPTION_TYPE_BOOL' ? ['true', 'false'] : (option.choices ?? []);
    const choices = [{ value: '', text: standard }, ...words.map((word) => ({ value: word, text: word.replaceAll('_', ' ') }))];
    return <SelectField {...common} choices={choices} />;
  }
  const ranged = (
    <>
      {label}
      {option.range ? <span class="range"> in {option.range}</span> : null}
    </>
  );
  return <TextField {...common} label={ranged} numeric={option.type !== 'OPTION_TYPE_TEXT'} placeholder={standard} />;
}

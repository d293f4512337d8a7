// Labelled inputs. Each has the path of its field in the request; the violation at that path stands beneath it.
import { createContext, type ComponentChildren } from 'preact';
import { useContext, useId } from 'preact/hooks';

export const ViolationsContext = createContext<ReadonlyMap<string, string>>(new Map());

interface FieldProps {
  path: string;
  label: ComponentChildren;
  help?: ComponentChildren;
  whole?: boolean;
}

function useField({ path, help }: FieldProps) {
  const id = useId();
  const error = useContext(ViolationsContext).get(path);
  const described = [help ? `${id}-help` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ');
  return { id, error, attributes: { id, 'data-path': path, 'aria-invalid': error !== undefined, 'aria-describedby': described || undefined } };
}

function Frame({ field, id, error, children }: { field: FieldProps; id: string; error: string | undefined; children: ComponentChildren }) {
  return (
    <div class={`field ${field.whole ? 'whole' : ''}`}>
      <label class="field-label" for={id}>
        {field.label}
      </label>
      {children}
      {error ? (
        <span class="field-error" id={`${id}-error`}>
          {error}
        </span>
      ) : null}
      {field.help ? (
        <span class="field-help" id={`${id}-help`}>
          {field.help}
        </span>
      ) : null}
    </div>
  );
}

/** What ties a field to one of a form's texts. */
export function boundTo<F>(form: F, change: (part: Partial<F>) => void) {
  return (name: { [K in keyof F]: F[K] extends string ? K : never }[keyof F]) => ({
    value: form[name] as string,
    onChange: (value: string) => change({ [name]: value } as unknown as Partial<F>),
  });
}

export function TextField(props: FieldProps & { value: string; placeholder?: string | undefined; numeric?: boolean; onChange: (value: string) => void }) {
  const { id, error, attributes } = useField(props);
  return (
    <Frame field={props} id={id} error={error}>
      <input
        {...attributes}
        type="text"
        autocomplete="off"
        spellcheck={false}
        inputMode={props.numeric ? 'decimal' : 'text'}
        value={props.value}
        placeholder={props.placeholder}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
    </Frame>
  );
}

export function SelectField(props: FieldProps & { value: string; choices: { value: string; text: string }[]; onChange: (value: string) => void }) {
  const { id, error, attributes } = useField(props);
  return (
    <Frame field={props} id={id} error={error}>
      <select {...attributes} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.choices.map(({ value, text }) => (
          <option key={value} value={value} selected={value === props.value}>
            {text}
          </option>
        ))}
      </select>
    </Frame>
  );
}

export function CheckField(props: { label: ComponentChildren; checked: boolean; onChange: (checked: boolean) => void }) {
  return (
    <label class="check">
      <input type="checkbox" checked={props.checked} onChange={(event) => props.onChange(event.currentTarget.checked)} /> {props.label}
    </label>
  );
}

/** A few choices that deserve a sentence each. */
export function ChoiceCards(props: {
  name: string;
  label: string;
  value: string;
  choices: { value: string; title: string; text: ComponentChildren }[];
  onChange: (value: string) => void;
}) {
  return (
    <div class="choice-cards" role="radiogroup" aria-label={props.label}>
      {props.choices.map(({ value, title, text }) => (
        <label key={value} class="choice-card">
          <input type="radio" name={props.name} value={value} checked={value === props.value} onChange={() => props.onChange(value)} />
          <strong>{title}</strong>
          <span class="sub">{text}</span>
        </label>
      ))}
    </div>
  );
}

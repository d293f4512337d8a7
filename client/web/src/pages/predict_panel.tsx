// A prediction by hand: what does the model say of one row, and why?
import { useMemo, useState } from 'preact/hooks';
import { getDataset, getFullVersion, predict } from '../api/calls.ts';
import type { ModelVersion, Prediction } from '../api/model_types.ts';
import { useLoad, useServices } from '../context.tsx';
import { inputsFromDatasets, inputsFromModel, type PredictInput, rowToColumns, valuesFromCsv } from '../form/predict_form.ts';
import { formatReal } from '../lib/format.ts';
import { datasetsOf } from '../lib/jobs.ts';
import { choiceOf, choicesOfRow } from '../lib/task_choices.ts';
import { columnImportance, kernelLabel } from '../lib/weights.ts';
import { useAction } from '../ui/action.tsx';
import { Bars } from '../ui/bars.tsx';
import { SelectField, TextField, ViolationsContext } from '../ui/field.tsx';
import { Failure, Loading, Panel } from '../ui/parts.tsx';

const FIRST_INPUTS = 9;

export function PredictPanel({ model }: { model: ModelVersion }) {
  const { client } = useServices();
  const loaded = useLoad(
    async (signal) => {
      try {
        // Further ones are tasks, with the same columns.
        const [first] = datasetsOf(model.lineage?.request);
        const datasets = first ? [await getDataset(client, first, signal)] : [];
        return { inputs: inputsFromDatasets(datasets, model) };
      } catch {
        return { inputs: inputsFromModel(await getFullVersion(client, model.name, signal)) };
      }
    },
    [model.name],
  );
  const inputs = loaded.value?.inputs;
  return (
    <Panel title="Try a prediction" aside={inputs ? <span class="sub">{inputs.length} columns</span> : null}>
      {loaded.error ? <Failure error={loaded.error} retry={loaded.reload} /> : inputs ? null : <Loading />}
      {inputs && inputs.length > 0 ? <PredictForm model={model} inputs={inputs} /> : null}
      {inputs?.length === 0 ? (
        <p class="sub">This model reads sparse or square blocks, whose columns have no names. Predict with a data set or a client instead.</p>
      ) : null}
    </Panel>
  );
}

/** Columns whose own kernels weigh most come first. */
function byImportance(inputs: PredictInput[], model: ModelVersion): PredictInput[] {
  const importance = columnImportance(model.kernelWeights);
  return [...inputs].sort((a, b) => (importance.get(b.name) ?? 0) - (importance.get(a.name) ?? 0));
}

function PredictForm({ model, inputs }: { model: ModelVersion; inputs: PredictInput[] }) {
  const { client } = useServices();
  const [values, setValues] = useState<Record<string, string>>({});
  const [all, setAll] = useState(false);
  const tasks = useMemo(() => choicesOfRow(model), [model]);
  const [task, setTask] = useState(tasks[0]?.value ?? '');
  const action = useAction<Prediction>();
  const { columns, errors } = useMemo(() => rowToColumns(inputs, values), [inputs, values]);
  const ordered = useMemo(() => byImportance(inputs, model), [inputs, model]);
  const shown = all ? ordered : ordered.slice(0, FIRST_INPUTS);
  const hidden = inputs.length - shown.length;
  const submit = (event: Event) => {
    event.preventDefault();
    if (errors.size > 0) setAll(true);
    else void action.run(() => predict(client, model.name, columns, choiceOf(tasks, task)));
  };
  return (
    <ViolationsContext.Provider value={errors}>
      <form class="form" onSubmit={submit} noValidate>
        <PasteRow inputs={inputs} onValues={setValues} />
        <div class="fields narrow">
          {tasks.length > 0 ? <SelectField path="task" label="Task" value={task} choices={tasks} onChange={setTask} /> : null}
          {shown.map((input) => (
            <InputField key={input.name} input={input} value={values[input.name] ?? input.typical} onChange={(value) => setValues({ ...values, [input.name]: value })} />
          ))}
        </div>
        <div class="actions">
          <button type="submit" class="button primary" aria-disabled={action.running}>
            Predict
          </button>
          {hidden > 0 ? (
            <button type="button" class="button" onClick={() => setAll(true)}>
              Show {hidden} more columns
            </button>
          ) : null}
          {hidden > 0 ? <span class="sub">Those that are not shown have the mean or most frequent value.</span> : null}
        </div>
        <Failure error={action.error} />
        <div role="status">{action.value ? <Result model={model} prediction={action.value} /> : null}</div>
      </form>
    </ViolationsContext.Provider>
  );
}

function InputField({ input, value, onChange }: { input: PredictInput; value: string; onChange: (value: string) => void }) {
  if (input.categories.length === 0) return <TextField path={input.name} label={input.name} numeric value={value} onChange={onChange} />;
  const choices = input.categories.map((category) => ({ value: category, text: category }));
  return <SelectField path={input.name} label={input.name} value={value} choices={choices} onChange={onChange} />;
}

function PasteRow({ inputs, onValues }: { inputs: PredictInput[]; onValues: (values: Record<string, string>) => void }) {
  const [unread, setUnread] = useState(false);
  const read = (text: string) => {
    const values = valuesFromCsv(text, inputs);
    setUnread(values === undefined && text.trim() !== '');
    if (values) onValues(values);
  };
  return (
    <details class="more-options">
      <summary>Paste a row of a CSV file</summary>
      <textarea rows={3} aria-label="A line of column names and a row of values" placeholder="names, in a line&#10;values, in the next" spellcheck={false} onInput={(event) => read(event.currentTarget.value)} />
      {unread ? <span class="field-error">Paste the line of column names and one row of values.</span> : null}
    </details>
  );
}

function Result({ model, prediction }: { model: ModelVersion; prediction: Prediction }) {
  const outputs = prediction.outputs ?? [];
  const values = prediction.decisionValues?.values ?? [];
  const label = prediction.labels?.[0];
  const output = Math.max(0, outputs.indexOf(label ?? ''));
  const shares = (prediction.contributions ?? []).map((share) => ({
    label: share.name === 'bias' ? 'bias' : kernelLabel(share.name ?? ''),
    title: share.name ?? '',
    value: Number(share.values?.values?.[output] ?? 0),
  }));
  shares.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  return (
    <div class="result">
      <p class="result-label">
        <span class="sub">{model.target}</span>
        <strong>{label ?? formatReal(values[0], 6)}</strong>
      </p>
      {label === undefined ? null : (
        <p class="sub">{outputs.map((name, index) => `${outputs.length > 1 ? name : 'decision value'} ${formatReal(values[index], 4)}`).join(' · ')}</p>
      )}
      {shares.length > 0 ? (
        <>
          <h3>What each kernel contributes{outputs.length > 1 ? ` to ${outputs[output]}` : ''}</h3>
          <Bars bars={shares} label="Contributions, largest first" first={10} />
        </>
      ) : null}
    </div>
  );
}

// How good a model is on another data set.
import { useState } from 'preact/hooks';
import { evaluateModel, listDatasets } from '../api/calls.ts';
import type { Evaluation, ModelVersion } from '../api/model_types.ts';
import { useLoad, useServices } from '../context.tsx';
import { formatInteger, idOf } from '../lib/format.ts';
import { choiceOf, choicesOfRows } from '../lib/task_choices.ts';
import { useAction } from '../ui/action.tsx';
import { Failure, Panel } from '../ui/parts.tsx';
import { EvaluationTable } from './evaluation_table.tsx';

export function EvaluatePanel({ model }: { model: ModelVersion }) {
  const { client } = useServices();
  const datasets = useLoad((signal) => listDatasets(client, signal), []);
  const [dataset, setDataset] = useState('');
  const [task, setTask] = useState('');
  const tasks = choicesOfRows(model);
  const action = useAction<Evaluation>();
  const evaluate = (event: Event) => {
    event.preventDefault();
    void action.run(() => evaluateModel(client, model.name, dataset, choiceOf(tasks, task)));
  };
  return (
    <Panel title="Evaluate on other data">
      <form class="inline-form" onSubmit={evaluate}>
        <label>
          <span class="hidden-label">Data set to evaluate on</span>
          <select value={dataset} onChange={(event) => setDataset(event.currentTarget.value)}>
            <option value="">Choose a data set…</option>
            {(datasets.value ?? []).map((each) => (
              <option key={each.name} value={each.name}>
                {idOf(each.name)}: {formatInteger(each.rows)} rows
              </option>
            ))}
          </select>
        </label>
        {tasks.length > 0 ? (
          <label>
            <span class="hidden-label">Tasks of the rows</span>
            <select value={task} onChange={(event) => setTask(event.currentTarget.value)}>
              {tasks.map(({ value, text }) => (
                <option key={value} value={value}>
                  {text}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <button type="submit" class="button small" disabled={!dataset} aria-disabled={action.running}>
          {action.running ? 'Evaluating…' : 'Evaluate'}
        </button>
      </form>
      <Failure error={action.error ?? datasets.error} />
      <div role="status">{action.value ? <EvaluationTable model={model} evaluation={action.value} /> : null}</div>
    </Panel>
  );
}

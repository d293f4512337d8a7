// How good a model is on another data set, and what it says of its rows.
import { useState } from 'preact/hooks';
import { evaluateModel, listDatasets, predictDataset } from '../api/calls.ts';
import type { Evaluation, ModelVersion } from '../api/model_types.ts';
import { useLoad, useServices } from '../context.tsx';
import { formatInteger, idOf } from '../lib/format.ts';
import { choiceOf, choicesOfRows } from '../lib/task_choices.ts';
import { useNavigate } from '../router.tsx';
import { useAction } from '../ui/action.tsx';
import { Choice } from '../ui/choice.tsx';
import { Failure, Panel } from '../ui/parts.tsx';
import { EvaluationTable } from './evaluation_table.tsx';

export function EvaluatePanel({ model }: { model: ModelVersion }) {
  const { client, live } = useServices();
  const datasets = useLoad((signal) => listDatasets(client, signal), []);
  const known = (datasets.value ?? []).map((each) => ({ value: each.name, text: `${idOf(each.name)}: ${formatInteger(each.rows)} rows` }));
  const [dataset, setDataset] = useState('');
  const [task, setTask] = useState('');
  const tasks = choicesOfRows(model);
  const action = useAction<Evaluation>();
  const prediction = useAction();
  const go = useNavigate();
  const evaluate = (event: Event) => {
    event.preventDefault();
    void action.run(() => evaluateModel(client, model.name, dataset, choiceOf(tasks, task)));
  };
  const predict = () =>
    void prediction.run(async () => {
      const job = live.put(await predictDataset(client, model.name, dataset, choiceOf(tasks, task)));
      go(`/${job.name}`);
    });
  return (
    <Panel title="Other data">
      <form class="inline-form" onSubmit={evaluate}>
        <Choice hidden label="Data set to evaluate or predict" value={dataset} choices={[{ value: '', text: 'Choose a data set…' }, ...known]} onChange={setDataset} />
        {tasks.length > 0 ? <Choice hidden label="Tasks of the rows" value={task} choices={tasks} onChange={setTask} /> : null}
        <button type="submit" class="button small" disabled={!dataset} aria-disabled={action.running}>
          {action.running ? 'Evaluating…' : 'Evaluate'}
        </button>
        <button type="button" class="button small" disabled={!dataset} aria-disabled={prediction.running} title="A job predicts its rows into a new data set" onClick={predict}>
          Predict its rows
        </button>
      </form>
      <Failure error={action.error ?? prediction.error ?? datasets.error} />
      <div role="status">{action.value ? <EvaluationTable model={model} evaluation={action.value} /> : null}</div>
    </Panel>
  );
}

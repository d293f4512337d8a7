// Related problems that are learned together: what says which task a row is of.
import type { Dataset } from '../api/dataset_types.ts';
import { SelectField } from '../ui/field.tsx';
import { Panel } from '../ui/parts.tsx';
import { datasetText, type SectionProps } from './train_sections.tsx';

// Values of the choice, besides the positions of columns.
const BY_DEFAULT = '';
const ONE_TASK = 'one';

export function TasksSection({ form, change, datasets, dataset }: SectionProps & { datasets: Dataset[]; dataset: Dataset | undefined }) {
  const columns = (dataset?.roleColumns ?? []).filter((column) => column.role === 'COLUMN_ROLE_TASK').map((column) => column.name ?? '');
  const chosen = form.tasks.filter(Boolean);
  const others = datasets.filter((each) => each.name !== form.dataset && !chosen.includes(each.name));
  const choices = [
    { value: BY_DEFAULT, text: columns.length > 0 ? `default: those of ${columns.join(', ')}` : 'default: one task' },
    { value: ONE_TASK, text: 'one task' },
    ...(columns.length > 1 ? columns.map((name, index) => ({ value: String(index), text: `those of ${name}` })) : []),
  ];
  const value = form.task === undefined ? BY_DEFAULT : form.task === '' ? ONE_TASK : String(columns.indexOf(form.task));
  const choose = (choice: string) => change({ task: choice === BY_DEFAULT ? undefined : choice === ONE_TASK ? '' : columns[Number(choice)] });
  if (columns.length === 0 && chosen.length === 0 && others.length === 0) return null;
  return (
    <Panel title="Tasks">
      <div class="fields">
        {columns.length > 0 && chosen.length === 0 ? <SelectField path="task" label="Tasks" value={value} choices={choices} onChange={choose} /> : null}
        {[...chosen, ''].map((name, index) => (
          <SelectField
            key={index}
            path={`data[${index + 1}]`}
            label={index === 0 ? 'Further data set, a task of its own' : 'And another'}
            value={name}
            choices={[{ value: '', text: 'none' }, ...datasets.filter((each) => each.name === name || others.includes(each)).map((each) => ({ value: each.name, text: datasetText(each) }))]}
            onChange={(next) => change({ tasks: [...chosen.slice(0, index), ...(next ? [next] : []), ...chosen.slice(index + 1)] })}
          />
        ))}
      </div>
    </Panel>
  );
}

// The newest version of every model: searched, sorted, compared, deleted.
import { useState } from 'preact/hooks';
import { listModels } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useNow, useRefresh, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatReal, idOf } from '../lib/format.ts';
import { datasetsOf } from '../lib/jobs.ts';
import { compareAddress, filterFromQuery, learnersOf, listed, MAX_COMPARED, type ModelFilter, type Order, queryFromFilter } from '../lib/model_list.ts';
import { mainMetric, partsOf } from '../lib/models.ts';
import { Link, navigate, type Route } from '../router.tsx';
import { FilterBar } from '../ui/filter_bar.tsx';
import { useFirst } from '../ui/more.tsx';
import { Empty, PageHeader, Unloaded } from '../ui/parts.tsx';
import { DeleteModelsDialog } from './delete_models.tsx';
import { Aliases, useModelsMade } from './resources.tsx';

const FIRST_ROWS = 100;

const COLUMNS: { order: Order; text: string; number: boolean }[] = [
  { order: 'name', text: 'Model', number: false },
  { order: 'version', text: 'Newest version', number: true },
  { order: 'quality', text: 'Quality', number: true },
  { order: 'gap', text: 'Gap', number: true },
  { order: 'created', text: 'Created', number: true },
];

export function ModelsPage({ route }: { route: Route }) {
  useTitle('Models');
  const { client } = useServices();
  const made = useModelsMade('');
  const { value: models, error, reload } = useLoad((signal) => listModels(client, signal), [made]);
  useRefresh(reload);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const filter = filterFromQuery(route.query);
  const [shown, more] = useFirst(listed(models ?? [], filter), FIRST_ROWS, FIRST_ROWS);
  if (!models) return <Unloaded error={error} retry={reload} />;
  if (models.length === 0) {
    return (
      <Empty title="There are no models yet" action={{ href: '/train', text: 'Start a training' }}>
        Every training that succeeds leaves a model with a certificate: how close it is to the best possible one.
      </Empty>
    );
  }
  const go = (change: Partial<ModelFilter>) => navigate(`/models${queryFromFilter({ ...filter, ...change })}`, true);
  // What is hidden by the search stays chosen, and is counted; what is gone is not.
  const still = models.filter((model) => chosen.has(partsOf(model.name).model));
  return (
    <>
      <PageHeader title="Models" />
      <FilterBar
        label="Learner"
        choices={['', ...learnersOf(models)]}
        value={filter.learner}
        count={(learner) => models.filter((model) => !learner || model.learner === learner).length}
        choose={(learner) => go({ learner })}
        search="Search models"
        placeholder="Search name, data, alias"
        text={filter.text}
        setText={(text) => go({ text })}
      />
      <SelectionBar chosen={still} clear={() => setChosen(new Set())} onDelete={reload} />
      <ModelTable models={shown} filter={filter} go={go} chosen={chosen} setChosen={setChosen} />
      {shown.length === 0 ? <p class="hint">No model matches.</p> : null}
      {more}
    </>
  );
}

function SelectionBar({ chosen, clear, onDelete }: { chosen: ModelVersion[]; clear: () => void; onDelete: () => void }) {
  const [asking, setAsking] = useState(false);
  const names = chosen.map((model) => model.name);
  const comparable = names.length >= 2 && names.length <= MAX_COMPARED;
  return (
    <div class="selection" role="status">
      <span class="sub">
        {names.length === 0 ? `Choose models to compare up to ${MAX_COMPARED}, or to delete them.` : `${names.length} chosen`}
      </span>
      {names.length === 0 ? null : (
        <>
          {comparable ? (
            <Link class="button small" href={compareAddress(names)}>
              Compare {names.length}
            </Link>
          ) : (
            <span class="sub">{names.length > MAX_COMPARED ? `at most ${MAX_COMPARED} can be compared` : 'one more to compare'}</span>
          )}
          <button type="button" class="button small danger" onClick={() => setAsking(true)}>
            Delete {names.length}
          </button>
          <button type="button" class="button small" onClick={clear}>
            Choose none
          </button>
        </>
      )}
      {asking ? (
        <DeleteModelsDialog
          models={chosen}
          onNo={() => setAsking(false)}
          onDone={() => {
            setAsking(false);
            clear();
          }}
          onDelete={onDelete}
        />
      ) : null}
    </div>
  );
}

interface ModelTableProps {
  models: ModelVersion[];
  filter: ModelFilter;
  go: (change: Partial<ModelFilter>) => void;
  chosen: ReadonlySet<string>;
  setChosen: (chosen: ReadonlySet<string>) => void;
}

function ModelTable({ models, filter, go, chosen, setChosen }: ModelTableProps) {
  const now = useNow(30);
  if (models.length === 0) return null;
  const choose = (names: string[], on: boolean) => {
    const changed = new Set(chosen);
    for (const name of names) on ? changed.add(name) : changed.delete(name);
    setChosen(changed);
  };
  const names = models.map((model) => partsOf(model.name).model);
  return (
    <table class="table cards choosable">
      <thead>
        <tr>
          <th scope="col" class="choice">
            <input
              type="checkbox"
              aria-label="Choose all that are shown"
              checked={names.every((name) => chosen.has(name))}
              onChange={(event) => choose(names, event.currentTarget.checked)}
            />
          </th>
          {COLUMNS.map(({ order, text, number }) => {
            const active = filter.order === order;
            return (
              <th key={order} scope="col" class={number ? 'number' : ''} aria-sort={active ? (filter.descending ? 'descending' : 'ascending') : undefined}>
                <button type="button" class="sort" onClick={() => go({ order, descending: active ? !filter.descending : order === 'quality' || order === 'created' })}>
                  {text} <span aria-hidden="true">{active ? (filter.descending ? '↓' : '↑') : ''}</span>
                </button>
              </th>
            );
          })}
        </tr>
      </thead>
      <tbody>
        {models.map((model) => (
          <ModelRow key={model.name} model={model} now={now} chosen={chosen.has(partsOf(model.name).model)} choose={(on) => choose([partsOf(model.name).model], on)} />
        ))}
      </tbody>
    </table>
  );
}

function ModelRow({ model, now, chosen, choose }: { model: ModelVersion; now: number; chosen: boolean; choose: (on: boolean) => void }) {
  const { model: name, version } = partsOf(model.name);
  return (
    <tr>
      <td class="choice">
        <input type="checkbox" aria-label={`Choose ${name}`} checked={chosen} onChange={(event) => choose(event.currentTarget.checked)} />
      </td>
      <th scope="row">
        <Link href={`/${model.name}`}>{name}</Link>{' '}
        <Aliases of={model} />
        <span class="sub">
          {model.about?.displayName ? `${model.about.displayName} · ` : ''}
          {model.learner} on {datasetsOf(model.lineage?.request).map(idOf).join(', ')}
        </span>
      </th>
      <td class="number" data-label="Newest version">{version}</td>
      <td class="number" data-label="Quality">{mainMetric(model)}</td>
      <td class="number" data-label="Gap">{formatReal(model.certificate?.accuracy, 2)}</td>
      <td class="number" data-label="Created">{formatAgo(model.createTime, now)}</td>
    </tr>
  );
}

// One data set: what is in it, and what may be wrong with it.
import { useState } from 'preact/hooks';
import { deleteDataset, getDataset, updateDataset } from '../api/calls.ts';
import type { Block, Column, Dataset } from '../api/dataset_types.ts';
import type { Words } from '../api/types.ts';
import { useLoad, useNow, useServices, useTitle } from '../context.tsx';
import { findingsOf, targetsOf } from '../lib/datasets.ts';
import { datasetWords } from '../lib/deletion.ts';
import { formatAgo, formatBytes, formatInteger, formatPercent, formatReal, idOf, ownerWords, wordsOf } from '../lib/format.ts';
import { givenLabels, withGivenLabels } from '../lib/words.ts';
import { Link, navigate } from '../router.tsx';
import { ActionDialog, AskButton } from '../ui/action.tsx';
import { Bars } from '../ui/bars.tsx';
import { useFirst } from '../ui/more.tsx';
import { focusContent, PageHeader, Panel, Scroll, Tile, Unloaded } from '../ui/parts.tsx';
import { WordsPanel } from '../ui/words_panel.tsx';

const FIRST_COLUMNS = 30;

export function DatasetPage({ id }: { id: string }) {
  useTitle(id);
  const { client } = useServices();
  const { value: dataset, error, reload, put } = useLoad((signal) => getDataset(client, `datasets/${id}`, signal), [id]);
  if (!dataset) return <Unloaded error={error} retry={reload} />;
  return (
    <>
      <DatasetHeader dataset={dataset} />
      <dl class="tiles">
        <Tile label="Rows" value={formatInteger(dataset.rows)} />
        <Tile label="Feature columns" value={formatInteger(dataset.numColumns)} />
        <Tile label="Target" value={targetsOf(dataset).map((column) => column.name).join(', ') || '–'} />
        <Tile label="Size" value={formatBytes(dataset.sizeBytes)} note="stored" />
      </dl>
      <div class="columns wide-first">
        <div class="stack">
          {(dataset.blocks ?? []).map((block) => (
            <BlockPanel key={block.name} block={block} rows={Number(dataset.rows ?? 0)} />
          ))}
          {(dataset.squares ?? []).map((square) => (
            <Panel key={square.name} title={`Square block ${square.name}`}>
              <p class="sub">
                {formatInteger(dataset.rows)} × {formatInteger(square.columns)} {wordsOf(square.kind, 'SQUARE_KIND_')} values
              </p>
            </Panel>
          ))}
        </div>
        <div class="stack">
          {(dataset.roleColumns ?? []).map((column) => (
            <RolePanel key={column.name} column={column} rows={Number(dataset.rows ?? 0)} />
          ))}
          {dataset.quality ? <QualityPanel dataset={dataset} /> : null}
          <DatasetWords dataset={dataset} put={put} />
        </div>
      </div>
    </>
  );
}

function DatasetHeader({ dataset }: { dataset: Dataset }) {
  const { client } = useServices();
  const now = useNow(30);
  const id = idOf(dataset.name);
  const leave = () => {
    navigate('/datasets');
    focusContent();
  };
  return (
    <PageHeader
      above={<Link href="/datasets">Data</Link>}
      title={id}
      below={[dataset.displayName, `stored ${formatAgo(dataset.createTime, now)}`, ownerWords(dataset.owner)].filter(Boolean).join(' · ')}
      actions={
        <>
          <AskButton>
            {(asked) => (
              <ActionDialog {...asked} title={`Delete ${id}?`} yes="Delete the data set" call={() => deleteDataset(client, dataset.name)} onDone={leave}>
                <p>This goes, and cannot be brought back: {datasetWords(dataset)}.</p>
                <p>Jobs and models that were trained on it stay, but their certificates cannot be recomputed any more.</p>
              </ActionDialog>
            )}
          </AskButton>
          <Link class="button primary" href={`/train?dataset=${id}`}>
            Train on it
          </Link>
        </>
      }
    />
  );
}

/** What the data's finder in the Python package goes by is neither shown nor changed. */
function DatasetWords({ dataset, put }: { dataset: Dataset; put: (dataset: Dataset) => Dataset }) {
  const { client } = useServices();
  const given = (words: Dataset): Words => ({ ...words, labels: givenLabels(words.labels) });
  const load = async () => given(put(await getDataset(client, dataset.name)));
  const save = async (changes: Words) =>
    updateDataset(client, dataset.name, changes.labels ? { ...changes, labels: withGivenLabels(dataset.labels, changes.labels) } : changes);
  return <WordsPanel title="Name and labels" words={given(dataset)} fields={['displayName']} load={load} save={save} />;
}

function RolePanel({ column, rows }: { column: Column; rows: number }) {
  const counts = column.valueCounts ?? [];
  const bars = counts.map((count) => ({ label: count.value ?? '', value: Number(count.count ?? 0) }));
  const role = wordsOf(column.role, 'COLUMN_ROLE_');
  const few = counts.length > 0 && counts.length <= 50;
  const least = Math.min(...bars.map((bar) => bar.value));
  return (
    <Panel title={<span class="capital">{`${role}: ${column.name}`}</span>} aside={<span class="sub">{few ? `${counts.length} values` : wordsOf(column.type, 'COLUMN_TYPE_')}</span>}>
      {few ? (
        <>
          <Bars bars={bars} label={`Rows per value of ${column.name}`} first={12} format={formatInteger} />
          {role === 'target' && rows > 0 ? <p class="sub">The smallest class has {formatPercent(least / rows)} of the rows.</p> : null}
        </>
      ) : (
        <p class="sub">{statisticsText(column)}</p>
      )}
    </Panel>
  );
}

function statisticsText(column: Column): string {
  const { statistics } = column;
  if (!statistics) return `${formatInteger(column.valueCounts?.length)} values`;
  const { min = 0, max = 0, mean = 0, standardDeviation = 0 } = statistics;
  return `${formatReal(min)} … ${formatReal(max)}, mean ${formatReal(mean)}, standard deviation ${formatReal(standardDeviation)}`;
}

function QualityPanel({ dataset }: { dataset: Dataset }) {
  const signs = { bad: '✕', warn: '!', good: '✓' };
  return (
    <Panel title="Quality">
      <ul class="quality">
        {findingsOf(dataset.quality ?? {}).map((finding) => (
          <li key={finding.title} class={finding.tone}>
            <span class="sign" aria-hidden="true">
              {signs[finding.tone]}
            </span>
            <span>
              {finding.title}
              <span class="sub finding">{finding.text}</span>
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function BlockPanel({ block, rows }: { block: Block; rows: number }) {
  const [text, setText] = useState('');
  const columns = (block.columns ?? []).filter((column) => column.name?.toLowerCase().includes(text.toLowerCase()));
  const [shown, more] = useFirst(columns, FIRST_COLUMNS, 200);
  const cells = rows * Number(block.numColumns ?? 0);
  return (
    <Panel title={`Block ${block.name}`} aside={<span class="sub">{formatInteger(block.numColumns)} columns</span>}>
      {block.sparse ? (
        <p class="sub">
          Sparse: {formatInteger(block.storedValues)} stored values, {formatPercent(cells > 0 ? Number(block.storedValues ?? 0) / cells : 0, 2)} of the cells. Its columns have numbers instead of names.
        </p>
      ) : (
        <>
          {(block.columns?.length ?? 0) > FIRST_COLUMNS ? (
            <input type="search" class="column-search" placeholder="Search columns" aria-label="Search columns" value={text} onInput={(event) => setText(event.currentTarget.value)} />
          ) : null}
          <Scroll label={`Columns of ${block.name}`}>
            <table class="table dense">
              <thead>
                <tr>
                  <th scope="col">Column</th>
                  <th scope="col" class="number">Mean</th>
                  <th scope="col" class="number">Deviation</th>
                  <th scope="col" class="number">Smallest</th>
                  <th scope="col" class="number">Largest</th>
                  <th scope="col" class="number">Missing</th>
                </tr>
              </thead>
              <tbody>
                {shown.map((column) => (
                  <ColumnRow key={column.name} column={column} />
                ))}
              </tbody>
            </table>
          </Scroll>
          {more}
        </>
      )}
    </Panel>
  );
}

function ColumnRow({ column }: { column: Column }) {
  const missing = <td class="number">{column.missing ? formatInteger(column.missing) : '–'}</td>;
  if (column.type === 'COLUMN_TYPE_CATEGORICAL') {
    const counts = column.valueCounts ?? [];
    const words = counts.slice(0, 4).map(({ value, count }) => `${value} (${formatInteger(count)})`);
    return (
      <tr>
        <th scope="row">{column.name}</th>
        <td colSpan={4} class="categories">
          {counts.length} categories: {words.join(', ')}
          {counts.length > 4 ? ', …' : ''}
        </td>
        {missing}
      </tr>
    );
  }
  const { min = 0, max = 0, mean = 0, standardDeviation = 0 } = column.statistics ?? {};
  return (
    <tr>
      <th scope="row">{column.name}</th>
      {[mean, standardDeviation, min, max].map((value, index) => (
        <td key={index} class="number">
          {formatReal(value)}
        </td>
      ))}
      {missing}
    </tr>
  );
}

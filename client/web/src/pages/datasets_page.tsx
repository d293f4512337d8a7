// All data sets.
import { listDatasets } from '../api/calls.ts';
import type { Dataset } from '../api/dataset_types.ts';
import { useLoad, useNow, useRefresh, useServices, useTitle } from '../context.tsx';
import { targetsOf } from '../lib/datasets.ts';
import { formatAgo, formatBytes, formatInteger, idOf } from '../lib/format.ts';
import { Link } from '../router.tsx';
import { Empty, PageHeader, Unloaded } from '../ui/parts.tsx';

export function DatasetsPage() {
  useTitle('Data');
  const { client } = useServices();
  const { value: datasets, error, reload } = useLoad((signal) => listDatasets(client, signal), []);
  useRefresh(reload);
  const now = useNow(30);
  if (!datasets) return <Unloaded error={error} retry={reload} />;
  if (datasets.length === 0) {
    return (
      <Empty title="There are no data yet" action={{ href: '/upload', text: 'Upload a file' }}>
        Any CSV file with a header will do: columns of numbers or text, and one column to predict.
      </Empty>
    );
  }
  return (
    <>
      <PageHeader
        title="Data"
        actions={
          <Link class="button primary" href="/upload">
            Upload a file
          </Link>
        }
      />
      <table class="table cards">
        <thead>
          <tr>
            <th scope="col">Data set</th>
            <th scope="col">Target</th>
            <th scope="col" class="number">Rows</th>
            <th scope="col" class="number">Columns</th>
            <th scope="col" class="number">Size</th>
            <th scope="col" class="number">Created</th>
          </tr>
        </thead>
        <tbody>
          {datasets.map((dataset) => (
            <DatasetRow key={dataset.name} dataset={dataset} now={now} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function DatasetRow({ dataset, now }: { dataset: Dataset; now: number }) {
  const id = idOf(dataset.name);
  return (
    <tr>
      <th scope="row">
        <Link href={`/${dataset.name}`}>{id}</Link>
        {dataset.displayName && dataset.displayName !== id ? <span class="sub">{dataset.displayName}</span> : null}
      </th>
      <td>{targetsOf(dataset).map((column) => column.name).join(', ') || '–'}</td>
      <td class="number" data-label="Rows">{formatInteger(dataset.rows)}</td>
      <td class="number" data-label="Columns">{formatInteger(dataset.numColumns)}</td>
      <td class="number" data-label="Size">{formatBytes(dataset.sizeBytes)}</td>
      <td class="number" data-label="Created">{formatAgo(dataset.createTime, now)}</td>
    </tr>
  );
}

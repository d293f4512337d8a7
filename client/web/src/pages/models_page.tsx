// The newest version of every model.
import { listModels } from '../api/calls.ts';
import type { Model } from '../api/model_types.ts';
import { useLive, useLoad, useNow, useRefresh, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatReal, idOf } from '../lib/format.ts';
import { datasetsOf } from '../lib/jobs.ts';
import { aliasOf, mainMetric, partsOf } from '../lib/models.ts';
import { Link } from '../router.tsx';
import { Empty, Failure, Loading, PageHeader } from '../ui/parts.tsx';

/** Changes when a job has made a model. */
export function useModelsMade(): number {
  return useLive((live) => live.jobs.list().filter((job) => job.model).length);
}

export function ModelsPage() {
  useTitle('Models');
  const { client } = useServices();
  const made = useModelsMade();
  const { value: models, error, reload } = useLoad((signal) => listModels(client, signal), [made]);
  useRefresh(reload);
  const now = useNow(30);
  if (!models) return error ? <Failure error={error} retry={reload} /> : <Loading />;
  if (models.length === 0) {
    return (
      <Empty title="There are no models yet" action={{ href: '/train', text: 'Start a training' }}>
        Every training that succeeds leaves a model with a certificate: how close it is to the best possible one.
      </Empty>
    );
  }
  return (
    <>
      <PageHeader
        title="Models"
        actions={
          models.length > 1 ? (
            <Link class="button" href={`/compare?a=${models[0]?.name}&b=${models[1]?.name}`}>
              Compare two
            </Link>
          ) : undefined
        }
      />
      <table class="table cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col" class="number">Newest version</th>
            <th scope="col" class="number">Quality</th>
            <th scope="col" class="number">Gap</th>
            <th scope="col" class="number">Created</th>
          </tr>
        </thead>
        <tbody>
          {models.map((model) => (
            <ModelRow key={model.name} model={model} now={now} />
          ))}
        </tbody>
      </table>
    </>
  );
}

function ModelRow({ model, now }: { model: Model; now: number }) {
  const { model: name, version } = partsOf(model.name);
  return (
    <tr>
      <th scope="row">
        <Link href={`/${model.name}`}>{name}</Link>{' '}
        {(model.aliases ?? []).map((alias) => (
          <span key={alias} class="alias">
            @{aliasOf(alias)}
          </span>
        ))}
        <span class="sub">
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

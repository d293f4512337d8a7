// One version of a model: how good it is, what proves it, which kernels matter, and what it says of new rows.
import { exportModel, getModel, getVersion, updateModel, updateVersion } from '../api/calls.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { useLoad, useNow, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatBytes, formatInteger, formatReal, idOf, metricWords, ownerWords } from '../lib/format.ts';
import { datasetsOf } from '../lib/jobs.ts';
import { compareAddress } from '../lib/model_list.ts';
import { accuracyWords, certifiedGap, metricNote, metricText, optionText, partsOf, plainMetrics, stopWords, taskMetrics, tasksText, validationMetrics, warningsOf } from '../lib/models.ts';
import { FIELDS } from '../lib/words.ts';
import { Link } from '../router.tsx';
import { AskButton, useAction } from '../ui/action.tsx';
import { Figures } from '../ui/figures.tsx';
import { Definitions, Failure, Notices, PageHeader, Panel, Tile, Unloaded } from '../ui/parts.tsx';
import { WordsPanel } from '../ui/words_panel.tsx';
import { AliasesPanel } from './aliases_panel.tsx';
import { CertificatePanel } from './certificate_panel.tsx';
import { DeleteModelDialog } from './delete_model.tsx';
import { EvaluatePanel } from './evaluate_panel.tsx';
import { HeldOutPanels } from './held_out_panel.tsx';
import { RequestView } from './job_details.tsx';
import { PathPanel } from './path_panel.tsx';
import { PredictPanel } from './predict_panel.tsx';
import { Aliases, DatasetLinks } from './resources.tsx';
import { TablePanels } from './tables_panel.tsx';
import { VersionsPanel } from './versions_panel.tsx';
import { WeightsPanel } from './weights_panel.tsx';

/** `name`: "models/spam" or one of its versions. */
export function ModelPage({ name }: { name: string }) {
  const { client } = useServices();
  const { value: model, error, reload, put } = useLoad((signal) => getVersion(client, name, signal), [name]);
  useTitle(idOf(partsOf(name).model));
  if (!model) return <Unloaded error={error} retry={reload} />;
  return (
    <>
      <ModelHeader model={model} onDelete={reload} />
      <Notices texts={warningsOf(model, undefined)} />
      <MetricTiles model={model} />
      <div class="columns wide-first">
        <div class="stack">
          <WeightsPanel model={model} />
          <TablePanels model={model} />
          <HeldOutPanels model={model} />
          <PathPanel model={model} />
          <TaskMetricsPanel model={model} />
          <PredictPanel key={model.name} model={model} />
        </div>
        <div class="stack">
          <CertificatePanel key={model.name} model={model} />
          <ModelWords key={partsOf(model.name).model} model={model} />
          <WordsPanel
            key={`words of ${model.name}`}
            title={`Version ${partsOf(model.name).version}`}
            words={model}
            fields={['description']}
            load={async () => put(await getVersion(client, model.name))}
            save={(changes) => updateVersion(client, model.name, changes)}
          />
          <VersionsPanel model={model} onChange={reload} />
          <AliasesPanel model={model} onChange={reload} />
          <EvaluatePanel key={model.name} model={model} />
          <Panel title="Options">
            <Definitions items={(model.options ?? []).map((option) => [option.name ?? '', optionText(option)])} />
          </Panel>
          <RequestView request={model.lineage?.request} />
        </div>
      </div>
    </>
  );
}

/** Of the model as a whole: its versions have words of their own. */
function ModelWords({ model }: { model: ModelVersion }) {
  const { client } = useServices();
  const { model: id } = partsOf(model.name);
  const load = (signal?: AbortSignal) => getModel(client, `models/${id}`, signal);
  const { value, error, reload, put } = useLoad(load, [id]);
  if (!value) return <Failure error={error} retry={reload} />;
  return (
    <WordsPanel
      title={`Model ${id}`}
      words={value}
      fields={FIELDS}
      load={async () => put(await load())}
      save={(changes) => updateModel(client, value.name, changes)}
    />
  );
}

function ModelHeader({ model, onDelete }: { model: ModelVersion; onDelete: () => void }) {
  const now = useNow(30);
  const { model: name, version } = partsOf(model.name);
  return (
    <PageHeader
      above={<Link href="/models">Models</Link>}
      title={
        <>
          {name} <span class="version">version {version}</span>
          <Aliases of={model} />
        </>
      }
      below={
        <>
          {model.learner} on{' '}
          <DatasetLinks names={datasetsOf(model.lineage?.request)} />, target {model.target}
          {model.tasks ? ` · ${tasksText(model.tasks)}` : ''} · {stopWords(model.stopReason)} · {formatAgo(model.createTime, now)}
          {model.lineage?.job ? (
            <>
              {' '}
              by <Link href={`/${model.lineage.job}`}>{idOf(model.lineage.job)}</Link>
            </>
          ) : null}
          {ownerWords(model.owner) ? ` · ${ownerWords(model.owner)}` : ''}
        </>
      }
      actions={
        <>
          <AskButton>{(asked) => <DeleteModelDialog {...asked} model={model} onDelete={onDelete} />}</AskButton>
          <DownloadButton model={model} />
          <Link class="button" href={compareAddress([model.name])}>
            Compare
          </Link>
          {model.lineage?.job ? (
            <Link class="button" href={`/train?from=${idOf(model.lineage.job)}`}>
              Train again
            </Link>
          ) : null}
        </>
      }
    />
  );
}

/** The stored file, which any client can evaluate. */
function DownloadButton({ model }: { model: ModelVersion }) {
  const { client } = useServices();
  const action = useAction();
  const save = async () => {
    const address = URL.createObjectURL(await exportModel(client, model.name));
    const { model: name, version } = partsOf(model.name);
    Object.assign(document.createElement('a'), { href: address, download: `${name}-${version}.mercer` }).click();
    // The browser has begun to read it by then.
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
  };
  return (
    <>
      <Failure error={action.error} />
      <button type="button" class="button" aria-disabled={action.running} onClick={() => void action.run(save)}>
        Download
      </button>
    </>
  );
}

function TaskMetricsPanel({ model }: { model: ModelVersion }) {
  const { metrics, tasks } = taskMetrics(model);
  if (tasks.length === 0) return null;
  return (
    <Panel title="Quality by task">
      <Figures
        head={[model.tasks?.column ?? 'Task', ...metrics.map(metricWords)]}
        rows={tasks.map(({ task, texts }) => ({ name: task, figures: metrics.map((metric) => texts.get(metric) ?? '–') }))}
      />
    </Panel>
  );
}

function MetricTiles({ model }: { model: ModelVersion }) {
  return (
    <dl class="tiles">
      {plainMetrics(model).map((metric) => (
        <Tile key={metric.name} label={metricWords(metric.name)} value={metricText(metric.name, metric.value)} note={metricNote(model, metric)} />
      ))}
      {validationMetrics(model).length ? null : <Tile label="Quality" value="–" note="not measured" />}
      <Tile
        label={accuracyWords(model.certificate)}
        value={formatReal(model.certificate?.accuracy, 2)}
        note={certifiedGap(model.certificate) === undefined ? undefined : 'certified'}
      />
      <Tile label="Support vectors" value={formatInteger(model.numSupportVectors)} note={`of ${formatInteger(model.numTrainingRows)} rows`} />
      <Tile label="Size" value={formatBytes(model.sizeBytes)} />
    </dl>
  );
}

// One job: how far it is, its bounds, what it was asked for, what happened.
import { useEffect } from 'preact/hooks';
import { cancelJob, deleteJob, getJob, stopJob, updateJob } from '../api/calls.ts';
import { errorOfStatus } from '../api/error.ts';
import type { ModelVersion } from '../api/model_types.ts';
import type { Job, TrainingProgress } from '../api/types.ts';
import { useCertificates, useLive, useLoad, useNow, useProgress, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatBytes, formatInteger, formatReal, formatSeconds, idOf, metricWords, ownerWords } from '../lib/format.ts';
import { jobDeletionWords, keptWords } from '../lib/deletion.ts';
import { datasetsOfJob, fractionOf, modelOfRequest, secondsOf, standingOf, titleOf, workOf } from '../lib/jobs.ts';
import { accuracyWords, certifiedGap, headlineMetrics, metricNote, metricText, versionWords, warningsOf } from '../lib/models.ts';
import { parseDuration } from '../lib/numbers.ts';
import { describeWork } from '../lib/request_words.ts';
import { activeGroups, activeKernels } from '../lib/weights.ts';
import { isFinal } from '../live/job_store.ts';
import { Link, navigate } from '../router.tsx';
import { ActionDialog, AskButton, useAction } from '../ui/action.tsx';
import { Definitions, Failure, focusContent, Notices, PageHeader, Panel, ProgressBar, StateBadge, Tile, Unloaded } from '../ui/parts.tsx';
import { WordsPanel } from '../ui/words_panel.tsx';
import { JobCharts } from './job_charts.tsx';
import { PathPanel } from './path_panel.tsx';
import { AttemptList, EventLog, RequestView, StageList } from './job_details.tsx';
import { ResultPanel } from './job_result.tsx';
import { DatasetLinks, useVersion } from './resources.tsx';

export function JobPage({ id }: { id: string }) {
  const name = `jobs/${id}`;
  const { client, live } = useServices();
  const job = useLive((state) => state.jobs.get(name));
  const progressError = useLive((state) => state.progressError);
  // Attempts and the final model are not in the stream of jobs.
  const loaded = useLoad((signal) => getJob(client, name, signal), [name, job?.state, job?.stopRequested]);
  useEffect(() => {
    if (loaded.value) live.put(loaded.value);
  }, [loaded.value]);
  useEffect(() => {
    live.watch(name);
    return () => live.watch(undefined);
  }, [live, name]);
  useTitle(job ? titleOf(job) : id);
  // Gone when it has been deleted since: then the last step's figures are all that is known.
  const model = useVersion(job?.model);

  if (!job) return <Unloaded error={loaded.error} retry={loaded.reload} />;
  return (
    <>
      <JobHeader job={job} />
      {job.error ? <Failure error={errorOfStatus(job.error)} /> : null}
      {progressError ? <Failure error={errorOfStatus(progressError)} /> : null}
      <Notices texts={warningsOf(model, job.request)} />
      <JobTiles job={job} model={model} />
      {model ? <PathPanel model={model} /> : null}
      {job.request ? <JobCharts job={job} /> : null}
      <div class="columns">
        <div class="stack">
          <ResultPanel job={job} />
          <EventLog job={job.name} />
        </div>
        <div class="stack">
          {job.request ? <RequestView request={job.request} /> : <WorkPanel job={job} />}
          <AttemptList attempts={job.attempts ?? []} />
          <WordsPanel
            title="Name and labels"
            words={job}
            fields={['displayName']}
            load={async () => live.put(loaded.put(await getJob(client, name)))}
            save={(changes) => updateJob(client, name, changes)}
          />
        </div>
      </div>
    </>
  );
}

function WorkPanel({ job }: { job: Job }) {
  return (
    <Panel title="Request">
      <Definitions items={describeWork(job)} />
    </Panel>
  );
}

function JobHeader({ job }: { job: Job }) {
  const now = useNow(10);
  const data = datasetsOfJob(job);
  const model = job.request ? undefined : modelOfRequest(job);
  return (
    <PageHeader
      above={<Link href="/jobs">Jobs</Link>}
      title={
        <>
          {titleOf(job)} <StateBadge job={job} />
        </>
      }
      below={
        <>
          {workOf(job)}
          {model ? (
            <>
              {' '}
              of <Link href={`/${model}`}>{versionWords(model)}</Link>
            </>
          ) : null}
          {data.length > 0 ? ' on ' : ' '}
          <DatasetLinks names={data} />{' '}
          · created {formatAgo(job.createTime, now)}
          {ownerWords(job.owner) ? ` · ${ownerWords(job.owner)}` : ''} · <code>{idOf(job.name)}</code>
        </>
      }
      actions={<JobActions job={job} />}
    />
  );
}

function JobActions({ job }: { job: Job }) {
  const { client, live } = useServices();
  const action = useAction();
  const act = async (call: typeof stopJob) => live.put(await call(client, job.name));
  const made = job.model || job.prediction?.dataset;
  const leave = () => {
    navigate('/jobs');
    live.forget(job.name);
    focusContent();
  };
  if (isFinal(job)) {
    // The keys tell the two questions apart: one that is open when the job ends is not answered as the other.
    return (
      <>
        <AskButton key="delete">
          {(asked) => (
            <ActionDialog {...asked} title={`Delete ${titleOf(job)}?`} yes="Delete the job" call={() => deleteJob(client, job.name)} onDone={leave}>
              <p>This goes, and cannot be brought back: {jobDeletionWords(job)}.</p>
              <p>{keptWords(job)}</p>
            </ActionDialog>
          )}
        </AskButton>
        {job.request ? (
          <Link class="button" href={`/train?from=${idOf(job.name)}`}>
            Train again
          </Link>
        ) : null}
        {made ? (
          <Link class="button primary" href={`/${made}`}>
            {job.model ? 'Open the model' : 'Open the data set'}
          </Link>
        ) : null}
      </>
    );
  }
  return (
    <>
      <Failure error={action.error} />
      {job.request ? (
        <button
          type="button"
          class="button"
          disabled={action.forbidden || job.stopRequested || job.state === 'JOB_STATE_CANCELLING'}
          title="Ends the job now and keeps the best model so far"
          onClick={() => void action.run(() => act(stopJob))}
        >
          Stop, keep the model
        </button>
      ) : null}
      <AskButton key="cancel" text="Cancel" disabled={job.state === 'JOB_STATE_CANCELLING'}>
        {(asked) => (
          <ActionDialog {...asked} title="Cancel this job?" yes="Cancel the job" call={() => act(cancelJob)} onDone={asked.onNo}>
            {job.request ? 'It ends without a model. To keep the best model so far, stop it instead.' : 'Nothing of it is kept.'}
          </ActionDialog>
        )}
      </AskButton>
    </>
  );
}

/** `model`: the one that the job has made; its figures take the place of the last step's, which may have been a fold's. */
function JobTiles({ job, model }: { job: Job; model: ModelVersion | undefined }) {
  const running = !isFinal(job);
  const now = useNow(running ? 1 : 0);
  const progress: TrainingProgress | undefined = useProgress(job.name)?.latest ?? job.progress?.progress;
  const wanted = job.request?.stopping?.relativeGap ?? 1e-3;
  const certified = useCertificates(job.model ? [job.model] : []).gapOf(job.model ?? '');
  const isGap = !model || certifiedGap(model.certificate) !== undefined;
  const reached = isGap ? certified ?? progress?.relativeGap : model.certificate?.accuracy;
  const remaining = parseDuration(progress?.remaining);
  const phase = !model && progress?.phase && progress.phase !== 'train' ? `${progress.phase}: ` : '';
  const [primal, dual] = model ? [model.certificate?.primal, model.certificate?.dual] : [progress?.primal, progress?.dual];
  const supportVectors = model ? model.numSupportVectors : progress?.supportVectors;
  const kernels = model ? activeKernels(model.kernelWeights) : progress?.activeKernels;
  const groups = model ? activeGroups(model.kernelWeights) : Number(progress?.activeGroups ?? 0);
  return (
    <>
      <StageList job={job.name} now={now} />
      {running ? (
        <div class="job-progress">
          <ProgressBar fraction={Number(progress?.fraction ?? fractionOf(job))} label="Progress of the job" />
          <p class="sub">{standingOf({ ...job, progress: { ...job.progress, progress } })}</p>
        </div>
      ) : null}
      <dl class="tiles">
        {(model ? headlineMetrics(model) : []).map((metric) => (
          <Tile key={metric.name} label={metricWords(metric.name)} value={metricText(metric.name, metric.value)} note={model ? metricNote(model, metric) : undefined} />
        ))}
        {job.request ? (
          <>
            <Tile label="Objective" value={formatReal(primal, 6)} note={isGap ? `${phase}optimum at least ${formatReal(dual, 6)}` : undefined} />
            <Tile label={accuracyWords(model?.certificate)} value={formatReal(reached, 2)} note={`${certified === undefined ? '' : 'certified, '}wanted ${formatReal(wanted, 2)}`} />
            <Tile label="Active kernels" value={kernels === undefined ? '–' : formatInteger(kernels)} note={groups > 0 ? `in ${formatInteger(groups)} ${groups === 1 ? 'group' : 'groups'}` : undefined} />
            <Tile label="Support vectors" value={supportVectors === undefined ? '–' : formatInteger(supportVectors)} />
          </>
        ) : null}
        <Tile
          label={running ? 'Running for' : 'Took'}
          value={formatSeconds(secondsOf(job, now))}
          note={running && remaining !== undefined ? `about ${formatSeconds(remaining)} left` : undefined}
        />
        <Tile label="Memory" value={job.memoryEstimateBytes ? formatBytes(job.memoryEstimateBytes) : '–'} note="upper bound" />
      </dl>
    </>
  );
}

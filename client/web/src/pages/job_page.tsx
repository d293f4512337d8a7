// One job: how far it is, its bounds, what it was asked for, what happened.
import { useEffect, useState } from 'preact/hooks';
import { cancelJob, getJob, getVersion, stopJob } from '../api/calls.ts';
import { errorOfStatus } from '../api/error.ts';
import type { ModelVersion } from '../api/model_types.ts';
import type { Job, TrainingProgress } from '../api/types.ts';
import { useCertificates, useLive, useLoad, useNow, useProgress, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatBytes, formatInteger, formatReal, formatSeconds, idOf, metricWords, ownerWords } from '../lib/format.ts';
import { datasetsOfJob, fractionOf, secondsOf, standingOf, titleOf, workOf } from '../lib/jobs.ts';
import { accuracyWords, certifiedGap, headlineMetrics, metricNote, metricText, warningsOf } from '../lib/models.ts';
import { parseDuration } from '../lib/numbers.ts';
import { activeGroups, activeKernels } from '../lib/weights.ts';
import { isFinal } from '../live/job_store.ts';
import { Link } from '../router.tsx';
import { ConfirmDialog, Failure, Loading, Notices, PageHeader, ProgressBar, StateBadge, Tile } from '../ui/parts.tsx';
import { JobCharts } from './job_charts.tsx';
import { PathPanel } from './path_panel.tsx';
import { AttemptList, EventLog, RequestView, StageList } from './job_details.tsx';

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
  const made = job?.model;
  const model = useLoad((signal) => (made ? getVersion(client, made, signal).catch(() => undefined) : Promise.resolve(undefined)), [made]).value;

  if (!job) return loaded.error ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />;
  return (
    <>
      <JobHeader job={job} />
      {job.error ? <Failure error={errorOfStatus(job.error)} /> : null}
      {progressError ? <Failure error={errorOfStatus(progressError)} /> : null}
      <Notices texts={warningsOf(model, job.request)} />
      <JobTiles job={job} model={model} />
      {model ? <PathPanel model={model} /> : null}
      <JobCharts job={job} />
      <div class="columns">
        <EventLog job={job.name} />
        <div class="stack">
          {job.request ? <RequestView request={job.request} /> : null}
          <AttemptList attempts={job.attempts ?? []} />
        </div>
      </div>
    </>
  );
}

function JobHeader({ job }: { job: Job }) {
  const now = useNow(10);
  const data = datasetsOfJob(job);
  const result = job.prediction?.dataset;
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
          {data.length > 0 ? ' on ' : ' '}
          {data.map((dataset, index) => (
            <span key={dataset}>
              {index > 0 ? ', ' : ''}
              <Link href={`/${dataset}`}>{idOf(dataset)}</Link>
            </span>
          ))}{' '}
          {result ? (
            <>
              · made <Link href={`/${result}`}>{idOf(result)}</Link>{' '}
            </>
          ) : null}
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
  const [asking, setAsking] = useState(false);
  const [error, setError] = useState<unknown>();
  const act = async (call: Promise<Job>) => {
    try {
      live.put(await call);
      setError(undefined);
    } catch (failure) {
      setError(failure);
    }
  };
  if (isFinal(job)) {
    return (
      <>
        {job.request ? (
          <Link class="button" href={`/train?from=${idOf(job.name)}`}>
            Train again
          </Link>
        ) : null}
        {job.model ? (
          <Link class="button primary" href={`/${job.model}`}>
            Open the model
          </Link>
        ) : null}
      </>
    );
  }
  return (
    <>
      <Failure error={error} />
      {job.request ? (
        <button
          type="button"
          class="button"
          disabled={job.stopRequested || job.state === 'JOB_STATE_CANCELLING'}
          title="Ends the job now and keeps the best model so far"
          onClick={() => void act(stopJob(client, job.name))}
        >
          Stop, keep the model
        </button>
      ) : null}
      <button type="button" class="button danger" disabled={job.state === 'JOB_STATE_CANCELLING'} onClick={() => setAsking(true)}>
        Cancel
      </button>
      {asking ? (
        <ConfirmDialog
          title="Cancel this job?"
          yes="Cancel the job"
          onNo={() => setAsking(false)}
          onYes={() => {
            setAsking(false);
            void act(cancelJob(client, job.name));
          }}
        >
          {job.request ? 'It ends without a model. To keep the best model so far, stop it instead.' : 'Nothing of it is kept.'}
        </ConfirmDialog>
      ) : null}
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
          <ProgressBar fraction={Number(progress?.fraction ?? fractionOf(job))} label="Progress of the training" />
          <p class="sub">{standingOf({ ...job, progress: { ...job.progress, progress } })}</p>
        </div>
      ) : null}
      <dl class="tiles">
        {(model ? headlineMetrics(model) : []).map((metric) => (
          <Tile key={metric.name} label={metricWords(metric.name)} value={metricText(metric.name, metric.value)} note={model ? metricNote(model, metric) : undefined} />
        ))}
        <Tile label="Objective" value={formatReal(primal, 6)} note={isGap ? `${phase}optimum at least ${formatReal(dual, 6)}` : undefined} />
        <Tile label={accuracyWords(model?.certificate)} value={formatReal(reached, 2)} note={`${certified === undefined ? '' : 'certified, '}wanted ${formatReal(wanted, 2)}`} />
        <Tile label="Active kernels" value={kernels === undefined ? '–' : formatInteger(kernels)} note={groups > 0 ? `in ${formatInteger(groups)} ${groups === 1 ? 'group' : 'groups'}` : undefined} />
        <Tile label="Support vectors" value={supportVectors === undefined ? '–' : formatInteger(supportVectors)} />
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

// One job: how far it is, its bounds, what it was asked for, what happened.
import { useEffect, useState } from 'preact/hooks';
import { cancelJob, getJob, stopJob } from '../api/calls.ts';
import { errorOfStatus } from '../api/error.ts';
import type { Job, TrainingProgress } from '../api/types.ts';
import { useCertificates, useLive, useLoad, useNow, useProgress, useServices, useTitle } from '../context.tsx';
import { formatAgo, formatBytes, formatInteger, formatReal, formatSeconds, idOf } from '../lib/format.ts';
import { datasetsOf, fractionOf, secondsOf, standingOf, titleOf } from '../lib/jobs.ts';
import { parseDuration } from '../lib/numbers.ts';
import { isFinal } from '../live/job_store.ts';
import { Link } from '../router.tsx';
import { ConfirmDialog, Failure, Loading, PageHeader, ProgressBar, StateBadge, Tile } from '../ui/parts.tsx';
import { JobCharts } from './job_charts.tsx';
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

  if (!job) return loaded.error ? <Failure error={loaded.error} retry={loaded.reload} /> : <Loading />;
  return (
    <>
      <JobHeader job={job} />
      {job.error ? <Failure error={errorOfStatus(job.error)} /> : null}
      {progressError ? <Failure error={errorOfStatus(progressError)} /> : null}
      <JobTiles job={job} />
      <JobCharts job={job} />
      <div class="columns">
        <EventLog job={job.name} />
        <div class="stack">
          <RequestView request={job.request} />
          <AttemptList attempts={job.attempts ?? []} />
        </div>
      </div>
    </>
  );
}

function JobHeader({ job }: { job: Job }) {
  const now = useNow(10);
  const data = datasetsOf(job.request);
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
          {job.learner} on{' '}
          {data.map((dataset, index) => (
            <span key={dataset}>
              {index > 0 ? ', ' : ''}
              <Link href={`/${dataset}`}>{idOf(dataset)}</Link>
            </span>
          ))}{' '}
          · created {formatAgo(job.createTime, now)} · <code>{idOf(job.name)}</code>
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
        <Link class="button" href={`/train?from=${idOf(job.name)}`}>
          Train again
        </Link>
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
      <button
        type="button"
        class="button"
        disabled={job.stopRequested || job.state === 'JOB_STATE_CANCELLING'}
        title="Ends the job now and keeps the best model so far"
        onClick={() => void act(stopJob(client, job.name))}
      >
        Stop, keep the model
      </button>
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
          It ends without a model. To keep the best model so far, stop it instead.
        </ConfirmDialog>
      ) : null}
    </>
  );
}

function JobTiles({ job }: { job: Job }) {
  const running = !isFinal(job);
  const now = useNow(running ? 1 : 0);
  const progress: TrainingProgress | undefined = useProgress(job.name)?.latest ?? job.progress?.progress;
  const wanted = job.request?.stopping?.relativeGap ?? 1e-3;
  const certified = useCertificates(job.model ? [job.model] : []).gapOf(job.model ?? '');
  const remaining = parseDuration(progress?.remaining);
  const phase = progress?.phase && progress.phase !== 'train' ? `${progress.phase}: ` : '';
  return (
    <>
      <StageList job={job.name} now={now} />
      {running ? (
        <div class="job-progress">
          <ProgressBar fraction={progress?.fraction ?? fractionOf(job)} label="Progress of the training" />
          <p class="sub">{standingOf({ ...job, progress: { ...job.progress, progress } })}</p>
        </div>
      ) : null}
      <dl class="tiles">
        <Tile label="Objective" value={formatReal(progress?.primal, 6)} note={`${phase}optimum at least ${formatReal(progress?.dual, 6)}`} />
        <Tile label="Relative gap" value={formatReal(certified ?? progress?.relativeGap, 2)} note={`${certified === undefined ? '' : 'certified, '}wanted ${formatReal(wanted, 2)}`} />
        <Tile label="Active kernels" value={progress ? formatInteger(progress.activeKernels) : '–'} />
        <Tile label="Support vectors" value={progress ? formatInteger(progress.supportVectors) : '–'} />
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

// All jobs, newest first, live.
import type { Job } from '../api/types.ts';
import { useCertificates, useLive, useNow, useTitle } from '../context.tsx';
import { formatAgo, formatSeconds, idOf } from '../lib/format.ts';
import { FILTERS, type Filter, fractionOf, gapOf, matchesFilter, matchesText, secondsOf, standingOf, titleOf, workWords } from '../lib/jobs.ts';
import { versionWords } from '../lib/models.ts';
import { isFinal } from '../live/job_store.ts';
import { Link, navigate, type Route } from '../router.tsx';
import { FilterBar } from '../ui/filter_bar.tsx';
import { useFirst } from '../ui/more.tsx';
import { Empty, Loading, PageHeader, ProgressBar, StateBadge } from '../ui/parts.tsx';
import { pure } from '../ui/pure.tsx';

const FIRST_ROWS = 100;

export function JobsPage({ route }: { route: Route }) {
  useTitle('Jobs');
  const jobs = useLive((live) => live.jobs.list());
  const complete = useLive((live) => live.jobs.complete);
  const now = useNow(1);
  const given = route.query.get('state') as Filter | null;
  const filter: Filter = given && FILTERS.includes(given) ? given : 'all';
  const text = route.query.get('q') ?? '';
  const found = jobs.filter((job) => matchesFilter(job, filter) && matchesText(job, text));
  const [shown, more] = useFirst(found, FIRST_ROWS, FIRST_ROWS);
  const go = (state: Filter, q: string) => {
    const query = new URLSearchParams();
    if (state !== 'all') query.set('state', state);
    if (q) query.set('q', q);
    navigate(`/jobs${query.size > 0 ? `?${query}` : ''}`, true);
  };

  return (
    <>
      <PageHeader
        title="Jobs"
        actions={
          <Link class="button primary" href="/train">
            New training
          </Link>
        }
      />
      {jobs.length === 0 ? (
        complete ? <NoJobs /> : <Loading />
      ) : (
        <>
          <FilterBar
            label="State"
            choices={FILTERS}
            value={filter}
            count={(state) => jobs.filter((job) => matchesFilter(job, state)).length}
            choose={(state) => go(state, text)}
            search="Search jobs"
            placeholder="Search name, data, label"
            text={text}
            setText={(q) => go(filter, q)}
          />
          <JobTable jobs={shown} now={now} />
          {found.length === 0 ? <p class="hint">No job matches.</p> : null}
          {more}
        </>
      )}
    </>
  );
}

function NoJobs() {
  return (
    <Empty title="Nothing has been trained yet" action={{ href: '/train', text: 'Start a training' }}>
      A job learns which of your kernels, columns or blocks matter. It appears here as soon as it is queued, and you can watch it learn.
    </Empty>
  );
}

function JobTable({ jobs, now }: { jobs: Job[]; now: number }) {
  const certificates = useCertificates(jobs.flatMap((job) => job.model ?? []));
  if (jobs.length === 0) return null;
  return (
    <table class="table jobs">
      <thead>
        <tr>
          <th scope="col">Job</th>
          <th scope="col">State</th>
          <th scope="col">Progress</th>
          <th scope="col" class="number">Gap</th>
          <th scope="col" class="number">Time</th>
          <th scope="col" class="number">Created</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <JobRow
            key={job.name}
            job={job}
            gap={gapOf(job, certificates.gapOf(job.model ?? ''))}
            time={formatSeconds(secondsOf(job, now))}
            created={formatAgo(job.createTime, now)}
          />
        ))}
      </tbody>
    </table>
  );
}

const JobRow = pure(function JobRow({ job, gap, time, created }: { job: Job; gap: string; time: string; created: string }) {
  const title = titleOf(job);
  const made = job.model ?? job.prediction?.dataset;
  return (
    <tr>
      <th scope="row">
        <Link href={`/${job.name}`}>{title}</Link>
        <span class="sub">
          {workWords(job)}
          {title === idOf(job.name) ? '' : ` · ${idOf(job.name)}`}
        </span>
      </th>
      <td>
        <StateBadge job={job} />
      </td>
      <td class="progress-cell">
        {isFinal(job) ? null : <ProgressBar fraction={fractionOf(job)} label={`Progress of ${title}`} />}
        <span class="sub clip" title={standingOf(job)}>
          {made ? <Link href={`/${made}`}>{job.model ? versionWords(job.model) : standingOf(job)}</Link> : standingOf(job)}
        </span>
      </td>
      <td class="number" data-label="Gap">{gap}</td>
      <td class="number" data-label="Time">{time}</td>
      <td class="number" data-label="Created">{created}</td>
    </tr>
  );
});

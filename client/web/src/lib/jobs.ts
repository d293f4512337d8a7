// What the pages say of jobs.
import type { Job, TrainingProgress, TrainRequest } from '../api/types.ts';
import { isFinal } from '../live/job_store.ts';
import { formatReal, formatSeconds, idOf, metricWords } from './format.ts';
import { metricText, versionWords } from './models.ts';
import { parseDuration } from './numbers.ts';

export const FILTERS = ['all', 'active', 'succeeded', 'failed', 'cancelled'] as const;
export type Filter = (typeof FILTERS)[number];

export function matchesFilter(job: Job, filter: Filter): boolean {
  switch (filter) {
    case 'all':
      return true;
    case 'active':
      return !isFinal(job);
    default:
      return job.state === `JOB_STATE_${filter.toUpperCase()}`;
  }
}

/** Every word must occur in name, learner, data set, model or labels. */
export function matchesText(job: Job, text: string): boolean {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return true;
  const data = datasetsOfJob(job);
  const labels = Object.entries(job.labels ?? {}).map(([key, value]) => `${key}=${value}`);
  const all = [job.name, job.displayName, workOf(job), job.model, modelOfRequest(job), ...data, ...labels].join(' ').toLowerCase();
  return words.every((word) => all.includes(word));
}

/** What it is called, or its model, or else its name. */
export function titleOf(job: Job): string {
  const model = modelOfRequest(job);
  return job.displayName || (model ? versionWords(model) : idOf(job.name));
}

/** The learner of a training, or what else the job does. */
export function workOf(job: Job): string {
  return job.learner || (job.kind ?? '').replace('JOB_KIND_', '').toLowerCase();
}

/** That the request names: the one to make, or to use. */
export function modelOfRequest(job: Job): string | undefined {
  return job.request?.model ?? job.predictionRequest?.model ?? job.evaluationRequest?.name ?? job.verificationRequest?.name;
}

/** That the job reads. */
export function datasetsOfJob(job: Job): string[] {
  const other = job.predictionRequest?.dataset ?? job.evaluationRequest?.dataset;
  return other ? [other] : datasetsOf(job.request);
}

/** "lp_mkl on clouds", "verification of spam · version 3". */
export function workWords(job: Job): string {
  const data = datasetsOfJob(job).map(idOf).join(', ');
  const model = job.request ? undefined : modelOfRequest(job);
  const of = model ? ` of ${versionWords(model)}` : '';
  return `${workOf(job)}${of}${data ? ` on ${data}` : ''}`;
}

export function datasetsOf(request: TrainRequest | undefined): string[] {
  return (request?.data ?? []).map((input) => input.dataset ?? '').filter(Boolean);
}

/** Share that is done, in [0, 1]. */
export function fractionOf(job: Job): number {
  if (job.state === 'JOB_STATE_SUCCEEDED') return 1;
  return Number(job.progress?.progress?.fraction ?? 0);
}

/** Seconds that the job has taken so far, or took. */
export function secondsOf(job: Job, now: number): number | undefined {
  if (!job.startTime) return undefined;
  const end = job.endTime ? Date.parse(job.endTime) : now;
  return Math.max(0, (end - Date.parse(job.startTime)) / 1000);
}

/** What the learner is doing, with the share that is done where it is known. */
export function stageWords({ stage, stageFraction }: TrainingProgress): string {
  return stageFraction === undefined ? (stage ?? '') : `${stage ?? ''} ${Math.floor(100 * Number(stageFraction))} %`;
}

/** One line on where a job stands. */
export function standingOf(job: Job): string {
  const progress = job.progress?.progress;
  switch (job.state) {
    case 'JOB_STATE_QUEUED':
      return job.reason ? `waits: ${reasonWords(job.reason)}` : 'waits for its turn';
    case 'JOB_STATE_RUNNING': {
      const remaining = parseDuration(progress?.remaining);
      const phase = progress?.phase && progress.phase !== 'train' && progress.phase !== progress.stage ? `${progress.phase}, ` : '';
      const stage = progress ? stageWords(progress) : 'starting';
      if (remaining === undefined) return `${phase}${stage}`;
      const within = progress?.stageFraction === undefined ? '' : `${stage}, `;
      return `${phase}${within}about ${formatSeconds(remaining)} left`;
    }
    case 'JOB_STATE_VERIFYING':
      return 'the certificate is being recomputed';
    case 'JOB_STATE_FAILED':
      return job.error?.message ?? reasonWords(job.reason);
    case 'JOB_STATE_CANCELLED':
      return reasonWords(job.reason);
    default:
      return resultWords(job);
  }
}

/** What has come of a job that is no training, in a line: the first metric, the verdict, the new data set. */
function resultWords({ evaluation, verification, prediction }: Job): string {
  const metric = evaluation?.metrics?.[0];
  if (metric) return `${metricText(metric.name, metric.value)} ${metricWords(metric.name)}`;
  if (verification) return verification.matches ? 'the same certificate' : 'another certificate than the stored one';
  return prediction ? `made ${idOf(prediction.dataset)}` : '';
}

export function reasonWords(reason: string | undefined): string {
  return (reason ?? '').toLowerCase().replaceAll('_', ' ');
}

/** `certified`: that of the job's model, once it has one. Folds have gaps of their own on the way there. */
export function gapOf(job: Job, certified: number | undefined): string {
  const gap = isFinal(job) ? certified : job.progress?.progress?.relativeGap;
  return gap === undefined ? '–' : formatReal(gap, 2);
}

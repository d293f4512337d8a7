// The progress of one job as columns of numbers for the charts, and its latest events for the log.
//
// The time axis is training time: that of an attempt that was resumed continues where its checkpoint was, and what came after the
// checkpoint is cut off, because the new attempt computes it again.
import type { ProgressEvent, TrainingProgress } from '../api/types.ts';
import { parseDuration, parseReal } from '../lib/numbers.ts';

export const MAX_POINTS = 20_000;
export const MAX_LOG_EVENTS = 1000;

export interface Series {
  iteration: number[];
  /** Seconds. */
  time: number[];
  primal: (number | null)[];
  dual: (number | null)[];
  gap: (number | null)[];
  activeKernels: (number | null)[];
  supportVectors: (number | null)[];
}

export type SeriesName = keyof Series;

const NAMES: SeriesName[] = ['iteration', 'time', 'primal', 'dual', 'gap', 'activeKernels', 'supportVectors'];

function emptySeries(): Series {
  return { iteration: [], time: [], primal: [], dual: [], gap: [], activeKernels: [], supportVectors: [] };
}

/** A part of the job's life, until the next one begins. Folds and values of a path are one part, whose name is that of the latest. */
export interface Stage {
  name: string;
  /** Milliseconds since 1970. */
  start: number;
}

/** "fold 2 of 5, value 3 of 10" and "fold 4 of 5, value 1 of 10" are of one kind. */
function kindOf(stage: string): string {
  return stage.replace(/\d+/g, '#');
}

export class JobProgress {
  /** Waiting, phases of the training, verification, end. */
  readonly stages: Stage[] = [];
  readonly series = emptySeries();
  /** Newest last, at most MAX_LOG_EVENTS. */
  readonly log: ProgressEvent[] = [];
  /** Where charts were cut: the iterations of `resumed`, with the training time there. */
  readonly cuts: { iteration: number; time: number }[] = [];
  lastSequence = 0;
  latest: TrainingProgress | undefined;
  phase = '';
  /** The job's log is complete. */
  ended = false;
  /** Changes with every event. */
  version = 0;
  private timeOffset = 0;

  constructor(readonly job: string) {}

  apply(event: ProgressEvent): void {
    const sequence = Number(event.sequence ?? 0);
    if (sequence <= this.lastSequence) return;
    this.lastSequence = sequence;
    ++this.version;
    this.log.push(event);
    if (this.log.length > 1.5 * MAX_LOG_EVENTS) this.log.splice(0, this.log.length - MAX_LOG_EVENTS);
    if (event.resumed) this.cut(Number(event.resumed.fromIteration ?? 0));
    this.stage(event);
    if (event.progress) this.add(Number(event.iteration ?? 0), event.progress);
  }

  private stage(event: ProgressEvent): void {
    const state = (event.stateChange?.state ?? '').replace('JOB_STATE_', '').toLowerCase();
    const name = event.progress?.phase ?? (event.stateChange?.reason === 'STOP_REQUESTED' ? '' : state);
    const last = this.stages.at(-1);
    if (!name || name === last?.name) return;
    // "running" lasts until the first phase says what runs.
    if (last && ((last.name === 'running' && event.progress) || kindOf(last.name) === kindOf(name))) last.name = name;
    else this.stages.push({ name, start: Date.parse(event.time ?? '') });
  }

  private add(iteration: number, progress: TrainingProgress): void {
    this.latest = progress;
    const time = this.timeOffset + (parseDuration(progress.elapsed) ?? 0);
    // Another phase has another objective: no line leads from one to the other.
    const phase = progress.phase ?? '';
    if (this.phase && phase !== this.phase) this.gap();
    this.phase = phase;
    const { series } = this;
    series.iteration.push(iteration);
    series.time.push(time);
    series.primal.push(parseReal(progress.primal));
    series.dual.push(parseReal(progress.dual));
    series.gap.push(parseReal(progress.relativeGap));
    series.activeKernels.push(Number(progress.activeKernels ?? 0) || null);
    series.supportVectors.push(Number(progress.supportVectors ?? 0) || null);
    if (series.time.length > MAX_POINTS) this.thin();
  }

  private gap(): void {
    const { series } = this;
    series.iteration.push(series.iteration.at(-1) ?? 0);
    series.time.push(series.time.at(-1) ?? 0);
    for (const name of NAMES.slice(2)) (series[name] as (number | null)[]).push(null);
  }

  private cut(fromIteration: number): void {
    const { series } = this;
    let length = series.iteration.length;
    while (length > 0 && (series.iteration[length - 1] ?? 0) > fromIteration) --length;
    for (const name of NAMES) series[name].length = length;
    this.timeOffset = series.time[length - 1] ?? 0;
    this.phase = length > 0 ? this.phase : '';
    this.cuts.push({ iteration: fromIteration, time: this.timeOffset });
  }

  /** Drops every other point of the older half. */
  private thin(): void {
    const half = Math.floor(this.series.time.length / 2);
    for (const name of NAMES) {
      const values = this.series[name] as (number | null)[];
      const kept = values.filter((_, index) => index >= half || index % 2 === 0);
      values.splice(0, values.length, ...kept);
    }
  }
}

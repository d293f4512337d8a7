// The jobs that the event stream has told of, newest first.
import type { Int64, Job, JobMessage, JobState } from '../api/types.ts';

export const FINAL_STATES: ReadonlySet<JobState> = new Set<JobState>([
  'JOB_STATE_SUCCEEDED',
  'JOB_STATE_FAILED',
  'JOB_STATE_CANCELLED',
]);

export function isFinal(job: Job): boolean {
  return FINAL_STATES.has(job.state ?? 'JOB_STATE_UNSPECIFIED');
}

function newestFirst(a: Job, b: Job): number {
  const [timeA, timeB] = [a.createTime ?? '', b.createTime ?? ''];
  if (timeA !== timeB) return timeA < timeB ? 1 : -1;
  return a.name < b.name ? 1 : -1;
}

export class JobStore {
  private readonly jobs = new Map<string, Job>();
  private sorted: Job[] | undefined;
  private unseen: Set<string> | undefined;
  /** All jobs that there were once have come. */
  complete = false;
  /** What a connection that goes on has to come after. 0: it has to begin anew. */
  sequence = '0';

  /** What the event stream says. */
  receive(message: JobMessage): void {
    // A new list: whatever it does not name again is gone. After one that was broken off comes another.
    if (message.existing && this.sequence !== '0') this.unseen = undefined;
    if (message.existing) this.unseen ??= new Set(this.jobs.keys());
    this.sequence = String(message.sequence ?? '0');
    this.apply(message);
  }

  apply(message: JobMessage): void {
    const { job } = message;
    if (!job) return;
    this.unseen?.delete(job.name);
    const known = this.jobs.get(job.name);
    if (message.left) {
      this.jobs.delete(job.name);
    } else if (!known || !isOlder(job, known)) {
      // Lists come without attempts; those that are known stay.
      this.jobs.set(job.name, job.attempts || !known?.attempts ? job : { ...job, attempts: known.attempts });
    }
    this.sorted = undefined;
  }

  /** A new connection: what has come of a list counts no longer. */
  connected(): void {
    this.unseen = undefined;
  }

  /** The list has been sent. */
  endList(sequence: Int64 = '0'): void {
    for (const name of this.unseen ?? [...this.jobs.keys()]) this.jobs.delete(name);
    this.sorted = undefined;
    this.unseen = undefined;
    this.complete = true;
    this.sequence = String(sequence);
  }

  get(name: string): Job | undefined {
    return this.jobs.get(name);
  }

  /** How many have made a model whose name begins so; 0 until all jobs have come. */
  made(prefix: string): number {
    return this.complete ? this.list().filter((job) => job.model?.startsWith(prefix)).length : 0;
  }

  list(): Job[] {
    this.sorted ??= [...this.jobs.values()].sort(newestFirst);
    return this.sorted;
  }
}

/** A watch may show an older state than one that a call has returned meanwhile. */
function isOlder(job: Job, known: Job): boolean {
  return Number(job.lastSequence ?? 0) < Number(known.lastSequence ?? 0) || (isFinal(known) && !isFinal(job));
}

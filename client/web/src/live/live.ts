// What a page shows, kept up to date by its event stream. Events change the stores at once; whoever shows them is told before a
// frame, however many events came.
import { errorOfStatus } from '../api/error.ts';
import { watchJobs } from '../api/routes.ts';
import type { Token } from '../api/token.ts';
import type { Job, JobMessage, ProgressEvent, Status as RpcStatus } from '../api/types.ts';
import { Connection, type Status } from './connection.ts';
import { JobProgress } from './job_progress.ts';
import { JobStore } from './job_store.ts';
import { Listeners } from './listeners.ts';
import type { ServerSentEvent } from './sse_parser.ts';

export const HIDDEN_SECONDS = 60;

/** Errors that another try does not mend. */
const GONE = new Set(['NOT_FOUND', 'PERMISSION_DENIED', 'INVALID_ARGUMENT']);

export class Live extends Listeners {
  readonly jobs = new JobStore();
  status: Status = { kind: 'connecting' };
  /** Of the job whose page is open. */
  progress: JobProgress | undefined;
  /** Why the progress of that job cannot be shown. */
  progressError: RpcStatus | undefined;
  private readonly connection: Connection;
  private hiding: ReturnType<typeof setTimeout> | undefined;
  private paused = false;

  constructor(
    token: Token,
    frame?: (callback: () => void) => void,
  ) {
    super(frame);
    this.connection = new Connection({
      path: () => this.path(),
      headers: () => token.headers(),
      onOpen: () => this.jobs.connected(),
      onEvent: (event) => this.receive(event),
      onStatus: (status) => {
        this.status = status;
        this.changed();
      },
    });
  }

  start(): void {
    this.status = { kind: 'connecting' };
    this.connection.start();
    this.changed();
  }

  stop(): void {
    this.connection.stop();
  }

  /** The page is hidden, or shown again. After a while a hidden one gives its stream back: a browser has few connections to a server,
   * for all of its tabs together. */
  setHidden(hidden: boolean): void {
    clearTimeout(this.hiding);
    if (hidden) {
      this.hiding = setTimeout(() => {
        this.paused = true;
        this.connection.stop();
      }, HIDDEN_SECONDS * 1000);
    } else if (this.paused) {
      this.paused = false;
      this.start();
    }
  }

  /** A call was refused for want of a token. */
  unauthorized(): void {
    this.connection.stop();
    this.status = { kind: 'token' };
    this.changed();
  }

  /** The page shows this job's progress; undefined: no job's. */
  watch(job: string | undefined): void {
    if (this.progress?.job === job) return;
    this.progress = job ? new JobProgress(job) : undefined;
    this.progressError = undefined;
    // A stream that tells of a job that is not shown any more only costs; the next page's connection drops it.
    if (job) this.connection.start();
    this.changed();
  }

  /** A call has returned this state of a job: whoever made it sees that at once. */
  put(job: Job): Job {
    this.jobs.apply({ job });
    this.tell();
    return job;
  }

  /** A call has deleted it. */
  forget(name: string): void {
    this.jobs.apply({ job: { name }, left: true });
    this.tell();
  }

  path(): string {
    const query = new URLSearchParams({ jobs: '1' });
    const { progress } = this;
    if (this.jobs.sequence !== '0') query.append('afterSequence', this.jobs.sequence);
    if (progress && !progress.ended && !this.progressError) query.append('job', `${progress.job}:${progress.lastSequence}`);
    return `${watchJobs().path}?${query.toString().replaceAll('%3A', ':').replaceAll('%2F', '/')}`;
  }

  receive(event: ServerSentEvent): void {
    const data = JSON.parse(event.data) as Record<string, unknown>;
    if (event.event === 'job') this.jobs.receive(data as JobMessage);
    else if (event.event === 'existing') this.jobs.endList((data as JobMessage).sequence);
    else if (data['job'] && data['job'] === this.progress?.job) this.receiveProgress(event.event, data);
    else if (event.event === 'error' && !data['job']) this.connection.interrupt(errorOfStatus(data['error'] as RpcStatus));
    this.changed();
  }

  private receiveProgress(kind: string, data: Record<string, unknown>): void {
    const { progress } = this;
    if (!progress) return;
    if (kind === 'progress') progress.apply(data['event'] as ProgressEvent);
    else if (kind === 'end') progress.ended = true;
    else if (kind === 'error') this.progressFailed(data['error'] as RpcStatus);
  }

  private progressFailed(error: RpcStatus & { status?: string }): void {
    const beyond = error.details?.some((detail) => detail.reason === 'BEYOND_LAST_EVENT');
    const job = this.progress?.job;
    if (beyond && job && (this.progress?.lastSequence ?? 0) > 0) {
      // The server knows fewer events than were seen, as after a restore: begin again.
      this.progress = new JobProgress(job);
      this.connection.start();
    } else if (GONE.has(error.status ?? '')) {
      this.progressError = error;
    } else {
      this.connection.interrupt(errorOfStatus(error));
    }
  }
}

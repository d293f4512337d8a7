// The one event stream of a page. It is read with fetch, because an EventSource cannot carry a token; when it breaks it is made
// again, with a longer wait each time, and goes on after the last event that was seen.
import { errorOfResponse, ApiError } from '../api/error.ts';
import { Backoff } from './backoff.ts';
import { type ServerSentEvent, SseParser } from './sse_parser.ts';

/** The server sends a sign of life every 10 seconds. */
export const SILENCE_SECONDS = 25;

export type Status =
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'waiting'; until: number; message: string }
  | { kind: 'token' };

export interface ConnectionOptions {
  /** Made anew for each try: it holds the last sequence numbers. */
  path: () => string;
  headers: () => Record<string, string>;
  onOpen: () => void;
  onEvent: (event: ServerSentEvent) => void;
  onStatus: (status: Status) => void;
  fetch?: typeof fetch;
  now?: () => number;
  backoff?: Backoff;
}

export class Connection {
  private controller: AbortController | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private silence: ReturnType<typeof setTimeout> | undefined;
  private readonly backoff: Backoff;
  private readonly now: () => number;
  private stopped = true;

  constructor(private readonly options: ConnectionOptions) {
    this.backoff = options.backoff ?? new Backoff();
    this.now = options.now ?? Date.now;
  }

  /** Connects, or connects again at once because what is to be watched has changed. */
  start(): void {
    this.stop();
    this.stopped = false;
    const controller = new AbortController();
    this.controller = controller;
    void this.run(controller);
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.controller?.abort();
    this.controller = undefined;
  }

  /** A part of the stream has ended with an error: makes a new one after a while. */
  interrupt(error: ApiError): void {
    const { controller } = this;
    if (!controller) return;
    this.retry(controller, error.message, error.retryAfterSeconds ?? 0);
    controller.abort();
  }

  private async run(controller: AbortController): Promise<void> {
    try {
      await this.read(controller);
      this.retry(controller, 'The server has closed the connection.', 0);
    } catch (error) {
      if (this.controller !== controller || this.stopped) return;
      if (error instanceof ApiError && error.needsToken) {
        this.stop();
        this.options.onStatus({ kind: 'token' });
        return;
      }
      const refused = error instanceof ApiError ? error : undefined;
      this.retry(controller, refused?.message ?? 'The server does not answer.', refused?.retryAfterSeconds ?? 0);
    }
  }

  private async read(controller: AbortController): Promise<void> {
    const call = this.options.fetch ?? fetch;
    this.listen(controller);
    const headers = { Accept: 'text/event-stream', ...this.options.headers() };
    const response = await call(this.options.path(), { headers, signal: controller.signal, cache: 'no-store' });
    if (!response.ok || !response.body) throw await errorOfResponse(response);
    this.options.onOpen();
    this.options.onStatus({ kind: 'live' });
    const reader = response.body.getReader();
    const decoder = new TextDecoder();
    const parser = new SseParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done || controller.signal.aborted) return;
      this.listen(controller);
      this.backoff.reset();
      for (const event of parser.push(decoder.decode(value, { stream: true }))) this.options.onEvent(event);
    }
  }

  /** A connection that has died without a word is noticed by its silence. */
  private listen(controller: AbortController): void {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => {
      if (this.controller === controller) {
        this.retry(controller, 'The server has fallen silent.', 0);
        controller.abort();
      }
    }, SILENCE_SECONDS * 1000);
  }

  private retry(controller: AbortController, message: string, retryAfterSeconds: number): void {
    if (this.controller !== controller || this.stopped) return;
    this.controller = undefined;
    clearTimeout(this.silence);
    const seconds = this.backoff.next(retryAfterSeconds);
    this.options.onStatus({ kind: 'waiting', until: this.now() + seconds * 1000, message });
    this.timer = setTimeout(() => this.start(), seconds * 1000);
  }
}

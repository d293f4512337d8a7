export class FakeServer {
  constructor(options?: { token?: string; runningJobs?: number; eventsPerSecond?: number });
  readonly streams: ReadonlySet<unknown>;
  readonly requests: { method: string; path: string; query: string }[];
  refuseStreams: number;
  start(port?: number): Promise<string>;
  stop(): Promise<void>;
  breakStreams(): void;
}

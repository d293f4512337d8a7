// How long to wait before the next try: half a second, then twice as long each time up to ten seconds, with a quarter of chance so
// that the pages of a team do not all come back in the same moment.

const FIRST_SECONDS = 0.5;
const LONGEST_SECONDS = 10;

export class Backoff {
  private failures = 0;

  constructor(private readonly random: () => number = Math.random) {}

  /** Seconds until the next try; never sooner than the server asked for. */
  next(retryAfterSeconds = 0): number {
    const seconds = Math.min(LONGEST_SECONDS, FIRST_SECONDS * 2 ** this.failures);
    ++this.failures;
    return Math.max(retryAfterSeconds, seconds * (1 + 0.25 * this.random()));
  }

  reset(): void {
    this.failures = 0;
  }
}

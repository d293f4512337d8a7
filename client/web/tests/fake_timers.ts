import type { TestContext } from 'node:test';

interface Timer {
  due: number;
  run: () => void;
}

/**
 * Takes the place of setTimeout and clearTimeout until the test ends: time passes only by tick(). (The timers of node:test are enabled
 * in one way by Node 18 and in another by later ones.)
 */
export class FakeTimers {
  private now = 0;
  private lastId = 0;
  private readonly timers = new Map<number, Timer>();

  constructor(context: TestContext) {
    const { setTimeout, clearTimeout } = globalThis;
    context.after(() => Object.assign(globalThis, { setTimeout, clearTimeout }));
    Object.assign(globalThis, {
      setTimeout: (run: () => void, milliseconds = 0) => {
        this.timers.set(++this.lastId, { due: this.now + milliseconds, run });
        return this.lastId;
      },
      clearTimeout: (id: number) => void this.timers.delete(id),
    });
  }

  /** Lets time pass: what falls due meanwhile runs in its order. */
  tick(milliseconds: number): void {
    const end = this.now + milliseconds;
    for (;;) {
      const [next] = [...this.timers].filter(([, timer]) => timer.due <= end).sort(([, a], [, b]) => a.due - b.due);
      if (!next) break;
      const [id, timer] = next;
      this.timers.delete(id);
      this.now = timer.due;
      timer.run();
    }
    this.now = end;
  }
}

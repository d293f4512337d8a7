// Who is told that something has changed, to draw it again.

const REDRAW_MILLISECONDS = 100;

export class Listeners {
  private readonly listeners = new Set<() => void>();
  private scheduled = false;

  constructor(private readonly frame: (callback: () => void) => void = framePacer()) {}

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** At once. */
  protected tell(): void {
    for (const listener of [...this.listeners]) listener();
  }

  /** Before a frame, once for all changes until then. */
  protected changed(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    this.frame(() => {
      this.scheduled = false;
      this.tell();
    });
  }
}

/** Before the next frame, but no more often than people can follow. Hidden pages get no frames; there once a second does. */
function framePacer(): (callback: () => void) => void {
  let last = 0;
  return (callback) => {
    const run = () => {
      last = performance.now();
      callback();
    };
    if (document.hidden) setTimeout(run, 1000);
    else setTimeout(() => requestAnimationFrame(run), Math.max(0, last + REDRAW_MILLISECONDS - performance.now()));
  };
}

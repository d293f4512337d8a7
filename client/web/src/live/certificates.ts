// The certified gaps of finished jobs' models. A certificate never changes, so each is asked for once.
import { ApiError } from '../api/error.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { certifiedGap } from '../lib/models.ts';
import { Listeners } from './listeners.ts';

const AT_ONCE = 2;

export class Certificates extends Listeners {
  /** Undefined: the model is gone, or has no gap. */
  private readonly known = new Map<string, number | undefined>();
  private waiting: string[] = [];
  private readonly asked = new Set<string>();

  constructor(
    private readonly load: (model: string) => Promise<ModelVersion>,
    frame?: (callback: () => void) => void,
  ) {
    super(frame);
  }

  gapOf(model: string): number | undefined {
    return this.known.get(model);
  }

  /** Asks for those of `models` that are not known, the first ones first; what was wanted before and is not any more is left. */
  want(models: string[]): void {
    this.waiting = models.filter((model) => !this.known.has(model) && !this.asked.has(model));
    while (this.asked.size < AT_ONCE && this.askNext());
  }

  private askNext(): boolean {
    const model = this.waiting.shift();
    if (model === undefined) return false;
    this.asked.add(model);
    void this.ask(model).then(() => {
      this.asked.delete(model);
      this.askNext();
    });
    return true;
  }

  private async ask(model: string): Promise<void> {
    try {
      this.known.set(model, certifiedGap((await this.load(model)).certificate));
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') {
        this.waiting = []; // no token, or no server: whoever wants them asks again when there is one
        return;
      }
      this.known.set(model, undefined);
    }
    this.changed();
  }
}

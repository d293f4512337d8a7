// A job that never ends by itself: its bounds close in on the optimum, and after every hundred events it is resumed.

const OPTIMUM = 1000;

export class SimulatedJob {
  constructor(id, request) {
    const createTime = new Date(Date.now() - 60_000 * (1 + (id.length > 4 ? Number(id.slice(3)) || 0 : 0))).toISOString();
    this.iteration = 0;
    this.events = [];
    this.seconds = 0;
    this.job = {
      name: `jobs/${id}`,
      displayName: request?.displayName,
      state: 'JOB_STATE_RUNNING',
      request: request ?? {
        data: [{ dataset: 'datasets/spambase' }],
        learner: { lpMkl: { kernels: [{ type: 'KERNEL_TYPE_GAUSSIAN', perColumn: true }], p: 1.2 } },
        stopping: { relativeGap: 1e-4 },
      },
      createTime,
      startTime: createTime,
      learner: 'lp_mkl',
      lastSequence: '0',
      memoryEstimateBytes: '442110632',
      attempts: [{ number: 1, worker: 'host:7345', startTime: createTime }],
    };
    this.push({ stateChange: { state: 'JOB_STATE_QUEUED' } });
    this.push({ stateChange: { state: 'JOB_STATE_RUNNING' } });
  }

  push(content) {
    const sequence = String(this.events.length + 1);
    const event = { sequence, time: new Date().toISOString(), attempt: 1, iteration: String(this.iteration), ...content };
    this.events.push(event);
    this.job = { ...this.job, lastSequence: sequence, ...(event.progress ? { progress: event } : {}) };
    return event;
  }

  step() {
    if (this.ended) return undefined;
    if (this.events.length % 100 === 0) {
      this.iteration = Math.max(0, this.iteration - 10);
      this.seconds = 0;
      return this.push({ resumed: { fromIteration: String(this.iteration) } });
    }
    ++this.iteration;
    this.seconds += 0.25;
    const distance = Math.exp(-this.iteration / 25);
    const [primal, dual] = [OPTIMUM * (1 + distance), OPTIMUM * (1 - 0.7 * distance)];
    return this.push({
      progress: {
        phase: 'train',
        stage: 'weights',
        fraction: 1 - distance,
        primal,
        dual,
        relativeGap: (primal - dual) / primal,
        activeKernels: String(Math.round(20 + 49 * distance)),
        supportVectors: String(Math.round(1200 - 800 * distance)),
        hasModel: true,
        elapsed: `${this.seconds}s`,
        remaining: `${Math.round(120 * distance)}s`,
      },
    });
  }

  end(state) {
    this.ended = true;
    this.job = { ...this.job, state, endTime: new Date().toISOString() };
    this.push({ stateChange: { state } });
  }
}

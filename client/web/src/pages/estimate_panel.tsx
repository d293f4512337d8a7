// What a training would cost, asked again when the form has rested for a moment.
import { useEffect, useState } from 'preact/hooks';
import { estimateCost } from '../api/calls.ts';
import { isAbort } from '../api/error.ts';
import type { CostEstimate, TrainRequest } from '../api/types.ts';
import { useServices } from '../context.tsx';
import { formatBytes, formatSeconds } from '../lib/format.ts';
import { warningsOf } from '../lib/models.ts';
import { parseDuration } from '../lib/numbers.ts';
import { Definitions, Notices, Panel } from '../ui/parts.tsx';

const REST_MILLISECONDS = 350;

export interface Estimate {
  value: CostEstimate | undefined;
  error: unknown;
  asking: boolean;
}

/** `request` undefined: there is nothing to ask for yet. */
export function useEstimate(request: TrainRequest | undefined): Estimate {
  const { client } = useServices();
  const [estimate, setEstimate] = useState<Estimate>({ value: undefined, error: undefined, asking: false });
  const text = request ? JSON.stringify(request) : '';
  useEffect(() => {
    if (!text) {
      setEstimate({ value: undefined, error: undefined, asking: false });
      return undefined;
    }
    const controller = new AbortController();
    setEstimate((old) => ({ ...old, asking: true }));
    const timer = setTimeout(() => {
      estimateCost(client, JSON.parse(text) as TrainRequest, controller.signal).then(
        (value) => setEstimate({ value, error: undefined, asking: false }),
        (error: unknown) => isAbort(error) || setEstimate({ value: undefined, error, asking: false }),
      );
    }, REST_MILLISECONDS);
    return () => {
      clearTimeout(timer);
      controller.abort();
    };
  }, [client, text]);
  return estimate;
}

export function EstimatePanel({ estimate, ready }: { estimate: Estimate; ready: boolean }) {
  const { value, asking } = estimate;
  return (
    <Panel title="What it would take">
      <div aria-live="polite" aria-busy={asking}>
        {!ready ? <p class="sub">Choose the data first.</p> : null}
        {ready && !value ? <p class="sub">{asking ? 'Asking the server…' : 'No estimate: the request is not complete.'}</p> : null}
        {value ? (
          <>
            <Definitions
              items={[
                ['time', `about ${formatSeconds(parseDuration(value.time) ?? 0)}`],
                ['memory', `at most ${formatBytes(value.memoryBytes)}`],
                ['of', `${formatBytes(value.memoryBudgetBytes)} for all jobs`],
              ]}
            />
            {value.fits ? null : <p class="field-error">More than this server has: {value.advice}.</p>}
            <Notices texts={warningsOf(undefined, value)} />
            <p class="sub">The time is usually right within a factor of 3; waiting in the queue is not counted.</p>
          </>
        ) : null}
      </div>
    </Panel>
  );
}

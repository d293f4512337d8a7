// What happened to a job, what it was asked for, and its attempts.
import { useState } from 'preact/hooks';
import type { Attempt, ProgressEvent, TrainRequest } from '../api/types.ts';
import { useProgress } from '../context.tsx';
import { formatClock, formatInteger, formatReal, formatSeconds, formatTime, idOf } from '../lib/format.ts';
import { reasonWords, stageWords } from '../lib/jobs.ts';
import { describeRequest } from '../lib/request_words.ts';
import { CheckField } from '../ui/field.tsx';
import { Definitions, Panel, stateWord } from '../ui/parts.tsx';
import { pure } from '../ui/pure.tsx';

const FIRST_EVENTS = 50;

/** How long the job has been in which part of its life. */
export function StageList({ job, now }: { job: string; now: number }) {
  const stages = useProgress(job)?.stages ?? [];
  if (stages.length === 0) return null;
  const final = ['succeeded', 'failed', 'cancelled'];
  return (
    <ol class="stages" aria-label="Stages">
      {stages.map(({ name, start }, index) => (
        <li key={`${name} ${start}`} aria-current={index === stages.length - 1 ? 'step' : undefined}>
          {name}
          {final.includes(name) ? null : <span class="sub">{formatSeconds(((stages[index + 1]?.start ?? now) - start) / 1000)}</span>}
        </li>
      ))}
    </ol>
  );
}

export function EventLog({ job }: { job: string }) {
  const progress = useProgress(job);
  const [shown, setShown] = useState(FIRST_EVENTS);
  const [statesOnly, setStatesOnly] = useState(false);
  const log = (progress?.log ?? []).filter((event) => !statesOnly || !event.progress);
  const events = log.slice(-shown).reverse();
  return (
    <Panel title="Log" aside={<CheckField label="changes of state only" checked={statesOnly} onChange={setStatesOnly} />}>
      <ol class="log" reversed start={Number(events[0]?.sequence ?? 0)} aria-label="Events, newest first">
        {events.map((event) => (
          <LogLine key={String(event.sequence)} event={event} />
        ))}
      </ol>
      {log.length > shown ? (
        <button type="button" class="button small" onClick={() => setShown(shown + 4 * FIRST_EVENTS)}>
          Show earlier events
        </button>
      ) : null}
    </Panel>
  );
}

const LogLine = pure(function LogLine({ event }: { event: ProgressEvent }) {
  return (
    <li class={event.progress ? '' : 'state'}>
      <time dateTime={event.time} title={formatTime(event.time)}>
        {formatClock(event.time)}
      </time>
      <span>{eventWords(event)}</span>
    </li>
  );
});

function eventWords(event: ProgressEvent): string {
  const { stateChange, progress, resumed } = event;
  if (resumed) {
    const from = Number(resumed.fromIteration ?? 0);
    return from > 0 ? `goes on from iteration ${formatInteger(from)}` : 'starts from the beginning';
  }
  if (stateChange) {
    if (stateChange.reason === 'STOP_REQUESTED') return 'a stop was asked for';
    const why = stateChange.error?.message ?? (stateChange.reason ? reasonWords(stateChange.reason) : '');
    return [stateWord(stateChange.state), why, stateChange.model ?? ''].filter(Boolean).join(': ');
  }
  // Work that is no training has one stage, and no iterations.
  if (progress && progress.phase === progress.stage) return progress.fraction ? `${progress.phase} ${Math.floor(100 * Number(progress.fraction))} %` : `${progress.phase} begins`;
  const parts = [`${progress?.phase ?? 'train'} ${progress ? stageWords(progress) : ''}`.trim(), `iteration ${formatInteger(event.iteration)}`];
  if (progress?.primal !== undefined) parts.push(`objective ${formatReal(progress.primal, 6)}`);
  if (progress?.relativeGap !== undefined) parts.push(`gap ${formatReal(progress.relativeGap, 2)}`);
  return parts.join(' · ');
}

export function RequestView({ request }: { request: TrainRequest | undefined }) {
  const [raw, setRaw] = useState(false);
  if (!request) return null;
  const aside = (
    <button type="button" class="button small" aria-pressed={raw} onClick={() => setRaw(!raw)}>
      {raw ? 'In words' : 'As JSON'}
    </button>
  );
  return (
    <Panel title="Request" aside={aside}>
      {raw ? <pre class="json">{JSON.stringify(request, null, 2)}</pre> : <Definitions items={describeRequest(request)} />}
    </Panel>
  );
}

export function AttemptList({ attempts }: { attempts: Attempt[] }) {
  if (attempts.length === 0) return null;
  return (
    <Panel title="Attempts">
      <ol class="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.number}>
            <strong>{attempt.number}</strong> {attempt.endReason ? reasonWords(attempt.endReason) : 'running'}
            <span class="sub">
              {formatTime(attempt.startTime)}
              {attempt.endTime ? ` · ${formatSeconds((Date.parse(attempt.endTime) - Date.parse(attempt.startTime ?? '')) / 1000)}` : ''}
              {attempt.worker ? ` · ${idOf(attempt.worker.split(' ')[0])}` : ''}
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

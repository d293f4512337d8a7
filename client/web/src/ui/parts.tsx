// Small parts that every page uses.
import type { ComponentChildren } from 'preact';
import { ApiError, messageOf } from '../api/error.ts';
import type { Job, JobState } from '../api/types.ts';
import { Link } from '../router.tsx';

const STATES: Partial<Record<JobState, { word: string; tone: string; sign: string }>> = {
  JOB_STATE_QUEUED: { word: 'queued', tone: 'idle', sign: '○' },
  JOB_STATE_RUNNING: { word: 'running', tone: 'run', sign: '●' },
  JOB_STATE_CANCELLING: { word: 'cancelling', tone: 'warn', sign: '◐' },
  JOB_STATE_VERIFYING: { word: 'verifying', tone: 'check', sign: '◆' },
  JOB_STATE_SUCCEEDED: { word: 'succeeded', tone: 'good', sign: '✓' },
  JOB_STATE_FAILED: { word: 'failed', tone: 'bad', sign: '✕' },
  JOB_STATE_CANCELLED: { word: 'cancelled', tone: 'off', sign: '–' },
};

export function stateWord(state: JobState | undefined): string {
  return STATES[state ?? 'JOB_STATE_UNSPECIFIED']?.word ?? 'unknown';
}

export function StateBadge({ job }: { job: Job }) {
  const state = STATES[job.state ?? 'JOB_STATE_UNSPECIFIED'] ?? { word: 'unknown', tone: 'off', sign: '?' };
  const stopping = job.stopRequested && (job.state === 'JOB_STATE_RUNNING' || job.state === 'JOB_STATE_QUEUED');
  return (
    <span class={`badge ${state.tone}`}>
      <span aria-hidden="true">{state.sign}</span> {stopping ? 'stopping' : state.word}
    </span>
  );
}

export function PageHeader(props: {
  title: ComponentChildren;
  above?: ComponentChildren;
  below?: ComponentChildren;
  actions?: ComponentChildren;
}) {
  return (
    <header class="page-header">
      <div class="page-heading">
        {props.above ? <nav class="crumbs" aria-label="Where you are">{props.above}</nav> : null}
        <h1>{props.title}</h1>
        {props.below ? <p class="below">{props.below}</p> : null}
      </div>
      {props.actions ? <div class="actions">{props.actions}</div> : null}
    </header>
  );
}

export function Panel(props: { title?: ComponentChildren; aside?: ComponentChildren; class?: string; children: ComponentChildren }) {
  return (
    <section class={`panel ${props.class ?? ''}`}>
      {props.title ? (
        <div class="panel-head">
          <h2>{props.title}</h2>
          {props.aside ? <div class="panel-aside">{props.aside}</div> : null}
        </div>
      ) : null}
      {props.children}
    </section>
  );
}

export function Tile({ label, value, note }: { label: string; value: ComponentChildren; note?: ComponentChildren }) {
  return (
    <div class="tile">
      <dt>{label}</dt>
      <dd>{value}</dd>
      {note ? <dd class="note">{note}</dd> : null}
    </div>
  );
}

export function Empty({ title, children, action }: { title: string; children: ComponentChildren; action?: { href: string; text: string } }) {
  return (
    <div class="empty">
      <svg class="empty-mark" viewBox="0 0 64 40" aria-hidden="true">
        <path d="M4 34c11 0 11-26 20-26s6 26 16 26 8-14 20-14" />
      </svg>
      <h2>{title}</h2>
      <p>{children}</p>
      {action ? (
        <Link class="button primary" href={action.href}>
          {action.text}
        </Link>
      ) : null}
    </div>
  );
}

/** Sentences that are to be read before the figures. */
export function Notices({ texts }: { texts: string[] }) {
  return (
    <>
      {texts.map((text) => (
        <p key={text} class="notice" role="note">
          {text}
        </p>
      ))}
    </>
  );
}

/** An error in the service's words; `role=alert`, so that it is read out. */
export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  if (error === undefined || error === null) return null;
  if (error instanceof ApiError && error.needsToken) return <p class="hint">Waiting for a token.</p>;
  const reason = error instanceof ApiError ? error.reason : '';
  return (
    <div class="failure" role="alert">
      <p>{messageOf(error)}</p>
      {reason ? <p class="reason">{reason}</p> : null}
      {retry ? (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      ) : null}
    </div>
  );
}

/** A resource that is not here: yet, any more, or for another reason. */
export function Unloaded({ error, retry }: { error: unknown; retry: () => void }) {
  if (error === undefined) return <Loading />;
  if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') return <Failure error={error} retry={retry} />;
  return (
    <div role="alert">
      <Empty title="There is no such page" action={{ href: '/jobs', text: 'To the jobs' }}>
        The address is misspelt, or what it named is gone: {messageOf(error)}.
      </Empty>
    </div>
  );
}

/** What may be wider than the screen is reached by the keyboard, too. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={label}>
      {children}
    </div>
  );
}

export function Loading() {
  return (
    <p class="loading" role="status">
      Loading…
    </p>
  );
}

export function ProgressBar({ fraction, label }: { fraction: number; label: string }) {
  const percent = Math.round(100 * Math.min(1, Math.max(0, fraction)));
  return (
    <div class="bar" role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={percent}>
      <div class="bar-fill" style={{ width: `${percent}%` }} />
    </div>
  );
}

/** For the keyboard and screen readers, when what had the focus is gone. */
export function focusContent(): void {
  document.getElementById('content')?.focus({ preventScroll: true });
}

export function Definitions({ items }: { items: [string, ComponentChildren][] }) {
  return (
    <dl class="definitions">
      {items.map(([term, value]) => (
        <div key={term}>
          <dt>{term}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

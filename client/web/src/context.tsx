// What every page needs: the client, the live state, and hooks to read both.
import { createContext } from 'preact';
import { useContext, useEffect, useReducer, useRef, useState } from 'preact/hooks';
import type { Client } from './api/client.ts';
import { isAbort } from './api/error.ts';
import type { Certificates } from './live/certificates.ts';
import type { JobProgress } from './live/job_progress.ts';
import type { Live } from './live/live.ts';

export interface Services {
  client: Client;
  live: Live;
  certificates: Certificates;
}

export const ServicesContext = createContext<Services | undefined>(undefined);

export function useServices(): Services {
  const services = useContext(ServicesContext);
  if (!services) throw new Error('no services');
  return services;
}

/** A part of the live state; the component is drawn again when it has become another one. */
export function useLive<T>(select: (live: Live) => T): T {
  const { live } = useServices();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const selected = select(live);
  const latest = useRef({ select, selected });
  latest.current = { select, selected };
  useEffect(
    () =>
      live.subscribe(() => {
        if (!Object.is(latest.current.select(live), latest.current.selected)) redraw(undefined);
      }),
    [live],
  );
  return selected;
}

/** The certified gaps of the models named; drawn again when one has come. */
export function useCertificates(models: string[]): Certificates {
  const { certificates } = useServices();
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const connected = useLive((live) => live.status.kind === 'live');
  useEffect(() => certificates.subscribe(() => redraw(undefined)), [certificates]);
  useEffect(() => certificates.want(models), [certificates, connected, models.join()]);
  return certificates;
}

/** The progress of the job whose page this is, drawn again with each of its events. */
export function useProgress(job: string): JobProgress | undefined {
  const { live } = useServices();
  useLive((state) => state.progress?.version);
  // While one job's page follows another's, the state is still that of the one before.
  return live.progress?.job === job ? live.progress : undefined;
}

/** The time now, which goes on every `seconds`; 0: it stands. */
export function useNow(seconds: number): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (seconds <= 0) return undefined;
    setNow(Date.now());
    const timer = setInterval(() => setNow(Date.now()), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
  return now;
}

export interface Loaded<T> {
  value: T | undefined;
  error: unknown;
  reload: () => void;
  /** Another call has returned it since: what a call that began before it answers does not count. */
  put: (value: T) => T;
}

/** The answer of a call, made again when one of `inputs` changes, and after an error as soon as the server is there again; the old
 * answer stays until the new one has come. */
export function useLoad<T>(call: (signal: AbortSignal) => Promise<T>, inputs: readonly unknown[]): Loaded<T> {
  const [state, setState] = useState<{ value: T | undefined; error: unknown }>({ value: undefined, error: undefined });
  const loading = useRef<AbortController | null>(null);
  const put = (value: T) => {
    loading.current?.abort();
    setState({ value, error: undefined });
    return value;
  };
  const [turn, reload] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const controller = new AbortController();
    loading.current = controller;
    call(controller.signal).then(
      (value) => !controller.signal.aborted && put(value),
      (error: unknown) => {
        if (!controller.signal.aborted && !isAbort(error)) setState((old) => ({ value: old.value, error }));
      },
    );
    return () => controller.abort();
  }, [...inputs, turn]);
  const connected = useLive((live) => live.status.kind === 'live');
  useEffect(() => {
    if (connected && state.error !== undefined) reload(undefined);
  }, [connected]);
  return { ...state, reload: () => reload(undefined), put };
}

/** Asks again every now and then, while the page is looked at: of what no stream of events tells. */
export function useRefresh(reload: () => void, seconds = 15): void {
  const latest = useRef(reload);
  latest.current = reload;
  useEffect(() => {
    const timer = setInterval(() => document.hidden || latest.current(), seconds * 1000);
    return () => clearInterval(timer);
  }, [seconds]);
}

/** Sets the document's title while the component is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · Mercer` : 'Mercer';
  }, [title]);
}

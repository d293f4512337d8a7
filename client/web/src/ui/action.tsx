// What a caller does to a resource: it runs, it fails, and what he may not do at all he is not offered again.
import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/error.ts';
import { ConfirmDialog, Failure } from './parts.tsx';

export interface Action<T = unknown> {
  running: boolean;
  /** What the last call has returned, or why it has failed. */
  value: T | undefined;
  error: unknown;
  /** The server has said that this caller may not. */
  forbidden: boolean;
  /** Whether the call has succeeded; while one runs, no other is made. */
  run: (call: () => Promise<T>) => Promise<boolean>;
  forget: () => void;
}

export function useAction<T = unknown>(): Action<T> {
  const [state, setState] = useState<{ running: boolean; value?: T; error?: unknown }>({ running: false });
  const forbidden = state.error instanceof ApiError && state.error.code === 'PERMISSION_DENIED';
  const busy = useRef(false);
  const run = async (call: () => Promise<T>) => {
    if (busy.current) return false;
    busy.current = true;
    setState({ running: true });
    try {
      const value = await call();
      setState({ running: false, value });
      return true;
    } catch (error) {
      setState({ running: false, error });
      return false;
    } finally {
      busy.current = false;
    }
  };
  // What is forbidden stays so, and the page goes on to say why.
  const forget = () => forbidden || setState({ running: busy.current });
  return { running: state.running, value: state.value, error: state.error, forbidden, run, forget };
}

/** Why a button is not offered, beside it. */
export function Refusal({ action }: { action: Action }) {
  return action.forbidden ? <span class="sub refusal">{messageOf(action.error)}</span> : null;
}

/** A question before an action; it stays open when the server refuses. */
export function ActionDialog<T>(props: {
  title: string;
  yes: string;
  action: Action<T>;
  /** It cannot be done as things stand. */
  blocked?: boolean;
  /** Why what is asked cannot be told. */
  error?: unknown;
  call: () => Promise<T>;
  onDone: () => void;
  onNo: () => void;
  children: ComponentChildren;
}) {
  const { action, blocked, error, call, onDone, children, ...question } = props;
  return (
    <ConfirmDialog
      {...question}
      running={action.running}
      disabled={action.forbidden || blocked}
      onYes={() => void action.run(call).then((done) => done && onDone())}
    >
      {children}
      <Failure error={action.error ?? error} />
    </ConfirmDialog>
  );
}

/** `children` make the dialog that says what goes. */
export function DeleteButton({ children }: { children: (asked: { action: Action; onNo: () => void }) => ComponentChildren }) {
  const [asking, setAsking] = useState(false);
  const action = useAction();
  const onNo = () => {
    setAsking(false);
    action.forget();
  };
  return (
    <>
      {asking ? null : <Refusal action={action} />}
      <button type="button" class="button danger" disabled={action.forbidden} onClick={() => setAsking(true)}>
        Delete
      </button>
      {asking ? children({ action, onNo }) : null}
    </>
  );
}

// What a caller does to a resource: it runs, it fails, and what he may not do at all he is not offered again.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/error.ts';
import { Failure, focusContent } from './parts.tsx';

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

/** A question before an action that cannot be undone; it stays open when the server refuses. */
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
  const { action, onDone, onNo } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    // A dialog that is taken out of the page gives the focus back to nobody.
    return () =>
      queueMicrotask(() => {
        if (opener instanceof HTMLElement && opener.isConnected && !opener.matches(':disabled')) opener.focus({ preventScroll: true });
        else focusContent();
      });
  }, []);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="dialog-title" onClose={onNo}>
      <h2 id="dialog-title">{props.title}</h2>
      <div class="dialog-text">
        {props.children}
        <Failure error={action.error ?? props.error} />
      </div>
      <div class="actions end">
        <button type="button" class="button" onClick={onNo}>
          Go back
        </button>
        <button
          type="button"
          class="button danger"
          disabled={action.forbidden || props.blocked}
          aria-disabled={action.running}
          onClick={() => void action.run(props.call).then((done) => done && onDone())}
        >
          {props.yes}
        </button>
      </div>
    </dialog>
  );
}

interface AskButtonProps {
  text?: ComponentChildren;
  class?: string;
  disabled?: boolean;
  /** Make the dialog. */
  children: (asked: { action: Action; onNo: () => void }) => ComponentChildren;
}

/** A button that asks first. */
export function AskButton({ text = 'Delete', class: kind = 'danger', disabled = false, children }: AskButtonProps) {
  const [asking, setAsking] = useState(false);
  const action = useAction();
  const onNo = () => {
    setAsking(false);
    action.forget();
  };
  return (
    <>
      {asking ? null : <Refusal action={action} />}
      <button type="button" class={`button ${kind}`} disabled={disabled || action.forbidden} onClick={() => setAsking(true)}>
        {text}
      </button>
      {asking ? children({ action, onNo }) : null}
    </>
  );
}

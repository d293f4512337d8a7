// What a caller does to a resource: it runs, it fails, and what he may not do at all he is not offered again.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, messageOf } from '../api/error.ts';
import { ConfirmDialog, Failure } from './parts.tsx';

export interface Action {
  running: boolean;
  error: unknown;
  /** The server has said that this caller may not. */
  forbidden: boolean;
  /** Whether the call has succeeded. */
  run: (call: () => Promise<unknown>) => Promise<boolean>;
  forget: () => void;
}

export function useAction(): Action {
  const [state, setState] = useState<{ running: boolean; error?: unknown }>({ running: false });
  const forbidden = state.error instanceof ApiError && state.error.code === 'PERMISSION_DENIED';
  const run = async (call: () => Promise<unknown>) => {
    setState({ running: true });
    try {
      await call();
    } catch (error) {
      setState({ running: false, error });
      return false;
    }
    setState({ running: false });
    return true;
  };
  // What is forbidden stays so, and the page goes on to say why.
  return { running: state.running, error: state.error, forbidden, run, forget: () => forbidden || setState({ running: false }) };
}

/** Why a button is not offered, beside it. */
export function Refusal({ action }: { action: Action }) {
  return action.forbidden ? <span class="sub refusal">{messageOf(action.error)}</span> : null;
}

/** A button, and the question that it asks first; `children` say what goes. The question stays open when the server refuses. */
export function DeleteButton(props: { title: string; yes: string; remove: () => Promise<unknown>; onDone: () => void; children: ComponentChildren }) {
  const [asking, setAsking] = useState(false);
  const action = useAction();
  const close = () => {
    setAsking(false);
    action.forget();
  };
  return (
    <>
      {asking ? null : <Refusal action={action} />}
      <button type="button" class="button danger" disabled={action.forbidden} onClick={() => setAsking(true)}>
        Delete
      </button>
      {asking ? (
        <ConfirmDialog
          title={props.title}
          yes={props.yes}
          disabled={action.running || action.forbidden}
          onYes={() => void action.run(props.remove).then((done) => done && props.onDone())}
          onNo={close}
        >
          {props.children}
          <Failure error={action.error} />
        </ConfirmDialog>
      ) : null}
    </>
  );
}

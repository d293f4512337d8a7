// Asks for a token when the server wants one.
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive, useServices } from '../context.tsx';

export function TokenPrompt({ onToken }: { onToken: () => void }) {
  const { client, live } = useServices();
  const needed = useLive((state) => state.status.kind === 'token');
  const [text, setText] = useState('');
  const dialog = useRef<HTMLDialogElement>(null);
  const refused = needed && client.token.get() !== '';
  useEffect(() => {
    if (needed) dialog.current?.showModal();
  }, [needed]);
  if (!needed) return null;
  const give = (event: Event) => {
    event.preventDefault();
    client.token.set(text.trim());
    setText('');
    live.start();
    onToken();
  };
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="token-title" onCancel={(event) => event.preventDefault()}>
      <form onSubmit={give}>
        <h2 id="token-title">This server asks for a token</h2>
        <p class="dialog-text">
          Whoever runs it makes one with <code>mercer-server token</code>. It is kept until you close this tab.
        </p>
        <label class="field">
          <span class="field-label">Token</span>
          <input
            type="password"
            autocomplete="off"
            value={text}
            aria-invalid={refused}
            aria-describedby={refused ? 'token-refused' : undefined}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          {refused ? (
            <span class="field-error" id="token-refused">
              The server does not accept this token.
            </span>
          ) : null}
        </label>
        <div class="actions end">
          <button type="submit" class="button primary" disabled={text.trim() === ''}>
            Go on
          </button>
        </div>
      </form>
    </dialog>
  );
}

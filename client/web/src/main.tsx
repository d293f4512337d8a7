// Starts the dashboard.
import { render } from 'preact';
import { Client } from './api/client.ts';
import { Token } from './api/token.ts';
import { App } from './app.tsx';
import { ServicesContext } from './context.tsx';
import { Live } from './live/live.ts';

const token = new Token(sessionStorage);
const live = new Live(token);
const client = new Client(token, () => live.unauthorized());
live.start();
document.addEventListener('visibilitychange', () => live.setHidden(document.hidden));

const root = document.getElementById('app');
if (root) {
  render(
    <ServicesContext.Provider value={{ client, live }}>
      <App />
    </ServicesContext.Provider>,
    root,
  );
}

// Starts the dashboard.
import { render } from 'preact';
import { getVersion } from './api/calls.ts';
import { Client } from './api/client.ts';
import { Token } from './api/token.ts';
import { App } from './app.tsx';
import { ServicesContext } from './context.tsx';
import { Certificates } from './live/certificates.ts';
import { Live } from './live/live.ts';

const token = new Token(sessionStorage);
const live = new Live(token);
const client = new Client(token, () => live.unauthorized());
const certificates = new Certificates((model) => getVersion(client, model));
live.start();
document.addEventListener('visibilitychange', () => live.setHidden(document.hidden));

const root = document.getElementById('app');
if (root) {
  render(
    <ServicesContext.Provider value={{ client, live, certificates }}>
      <App />
    </ServicesContext.Provider>,
    root,
  );
}

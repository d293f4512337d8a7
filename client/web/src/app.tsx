// The frame of every page: navigation, whether the page is up to date, the question for a token.
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { getServer } from './api/calls.ts';
import { useLive, useLoad, useNow, useServices } from './context.tsx';
import { Link, type Route, useRoute } from './router.tsx';
import { pageOf } from './routes.tsx';
import { Guard } from './ui/guard.tsx';
import { ThemeButton, ThemeProvider, useThemeChoice } from './ui/theme.tsx';
import { TokenPrompt } from './ui/token_prompt.tsx';

const NAVIGATION = [
  { text: 'Jobs', pages: ['jobs', 'train'] },
  { text: 'Models', pages: ['models', 'compare'] },
  { text: 'Data', pages: ['datasets', 'upload'] },
];

export function App() {
  const route = useRoute();
  const { choice, theme, choose } = useThemeChoice();
  // After a token was given everything is asked again.
  const [turn, setTurn] = useState(0);
  return (
    <ThemeProvider value={theme}>
      <a class="skip" href="#content">
        To the content
      </a>
      <TopBar route={route}>
        <Connected />
        <ThemeButton choice={choice} choose={choose} />
      </TopBar>
      <Banner />
      <TokenPrompt onToken={() => setTurn(turn + 1)} />
      <main id="content" key={turn} tabIndex={-1}>
        <Guard key={route.parts.join('/')}>{pageOf(route)}</Guard>
      </main>
      <Footer />
    </ThemeProvider>
  );
}

function TopBar({ route, children }: { route: Route; children: ComponentChildren }) {
  const section = route.parts[0] ?? 'jobs';
  return (
    <header class="top">
      <Link class="brand" href="/jobs">
        <svg viewBox="0 0 32 32" aria-hidden="true">
          <path d="M4 24c5 0 5-15 9-15s3 15 7 15 3-8 8-8" />
        </svg>
        Mercer
      </Link>
      <nav aria-label="Main">
        {NAVIGATION.map(({ text, pages }) => (
          <Link key={text} href={`/${pages[0]}`} aria-current={pages.includes(section) ? (section === pages[0] ? 'page' : 'true') : undefined}>
            {text}
          </Link>
        ))}
      </nav>
      <div class="top-end">{children}</div>
    </header>
  );
}

function Connected() {
  const status = useLive((live) => live.status);
  const words = { connecting: 'connecting', live: 'live', waiting: 'not connected', token: 'no token' }[status.kind];
  return (
    <span class={`connected ${status.kind}`} role="status">
      <span class="dot" aria-hidden="true" /> {words}
    </span>
  );
}

/** Says that what is shown may be old. */
function Banner() {
  const { live } = useServices();
  const status = useLive((state) => state.status);
  const now = useNow(status.kind === 'waiting' ? 0.5 : 0);
  if (status.kind !== 'waiting') return null;
  const seconds = Math.max(0, Math.ceil((status.until - now) / 1000));
  return (
    <div class="banner" role="alert">
      <span>
        Not connected: {status.message.replace(/\.$/, '')}. What you see may be out of date.
      </span>
      <button type="button" class="button small" onClick={() => live.start()}>
        Try now <span aria-hidden="true">({seconds} s)</span>
      </button>
    </div>
  );
}

function Footer() {
  const { client } = useServices();
  const server = useLoad((signal) => getServer(client, signal), []);
  return <footer class="footer">{server.value?.version ? `mercer-server ${server.value.version}` : ''}</footer>;
}

// Addresses: which page a path shows, and links that change it without loading a new document.
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Route {
  /** Parts of the path: ["jobs", "a"]. */
  parts: string[];
  query: URLSearchParams;
}

export function parseRoute(path: string, search: string): Route {
  const parts = path.split('/').filter(Boolean).map(decode);
  return { parts, query: new URLSearchParams(search) };
}

function decode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

const listeners = new Set<() => void>();

export function navigate(href: string, replace = false): void {
  if (replace) history.replaceState(null, '', href);
  else history.pushState(null, '', href);
  for (const listener of [...listeners]) listener();
}

export function useRoute(): Route {
  const read = () => parseRoute(location.pathname, location.search);
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const update = () => setRoute(read());
    listeners.add(update);
    addEventListener('popstate', update);
    return () => {
      listeners.delete(update);
      removeEventListener('popstate', update);
    };
  }, []);
  return route;
}

/** Navigates as long as the component is shown: for what comes of an answer, which may come when its page has been left. */
export function useNavigate(): (href: string) => void {
  const shown = useRef(true);
  useEffect(
    () => () => {
      shown.current = false;
    },
    [],
  );
  return (href) => {
    if (shown.current) navigate(href);
  };
}

interface LinkProps {
  href: string;
  class?: string;
  'aria-current'?: 'page' | 'true' | undefined;
  children: ComponentChildren;
}

export function Link({ href, children, ...rest }: LinkProps) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(href);
    scrollTo(0, 0);
  };
  return (
    <a href={href} onClick={follow} {...rest}>
      {children}
    </a>
  );
}

// One call of the gateway: JSON out, JSON in, ApiError for everything that is refused.
import { ApiError, errorOfResponse, errorOfText } from './error.ts';
import type { Route } from './routes.ts';
import type { Token } from './token.ts';

export type Query = Record<string, string | number | boolean | undefined>;

export function withQuery(path: string, query: Query = {}): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') parameters.set(name, String(value));
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

export class Client {
  /** `onUnauthorized` is told of every answer that asks for a token. */
  constructor(
    readonly token: Token,
    private readonly onUnauthorized: () => void = () => {},
  ) {}

  /** `request`: without messages in it where the verb has no body. */
  async call<T>({ verb, path }: Route, request: object = {}, signal?: AbortSignal): Promise<T> {
    const headers: Record<string, string> = { ...this.token.headers(), 'X-Mercer': '1' };
    const inQuery = verb === 'GET' || verb === 'DELETE';
    if (!inQuery) headers['Content-Type'] = 'application/json';
    const target = inQuery ? withQuery(path, request as Query) : path;
    const response = await fetch(target, { method: verb, headers, body: inQuery ? null : JSON.stringify(request), signal: signal ?? null });
    if (!response.ok) throw this.noticed(await errorOfResponse(response));
    const text = await response.text();
    return (text ? JSON.parse(text) : {}) as T;
  }

  private noticed(error: ApiError): ApiError {
    if (error.needsToken) this.onUnauthorized();
    return error;
  }

  /** The bytes of an answer that is a file. A link could not carry the token. */
  async download(route: Route): Promise<Blob> {
    const response = await fetch(route.path, { headers: this.token.headers() });
    if (!response.ok) throw this.noticed(await errorOfResponse(response));
    return response.blob();
  }

  /** Sends a file as it is. fetch cannot tell how much it has sent, XMLHttpRequest can. */
  upload<T>(route: Route, query: Query, file: Blob, onProgress: (sentBytes: number) => void, signal: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const request = new XMLHttpRequest();
      request.open(route.verb, withQuery(route.path, query));
      for (const [name, value] of Object.entries(this.token.headers())) request.setRequestHeader(name, value);
      request.setRequestHeader('X-Mercer', '1');
      request.setRequestHeader('Content-Type', 'application/octet-stream');
      request.upload.onprogress = (event) => onProgress(event.loaded);
      request.onload = () => {
        if (request.status >= 200 && request.status < 300) resolve(JSON.parse(request.responseText) as T);
        else reject(this.noticed(errorOfText(request.status, request.responseText)));
      };
      request.onerror = () => reject(new TypeError('the connection broke'));
      request.onabort = () => reject(new DOMException('cancelled', 'AbortError'));
      signal.addEventListener('abort', () => request.abort(), { once: true });
      request.send(file);
    });
  }
}

// The token of this tab: it is forgotten when the tab is closed.

const KEY = 'mercer.token';

export interface TokenStore {
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

export class Token {
  constructor(private readonly store: TokenStore) {}

  get(): string {
    return this.store.getItem(KEY) ?? '';
  }

  set(token: string): void {
    if (token) this.store.setItem(KEY, token);
    else this.store.removeItem(KEY);
  }

  headers(): Record<string, string> {
    const token = this.get();
    return token ? { Authorization: `Bearer ${token}` } : {};
  }
}

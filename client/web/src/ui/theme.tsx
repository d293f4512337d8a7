// Light or dark: as the system says, unless the user has chosen.
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';

export type Choice = 'auto' | 'light' | 'dark';
export type Theme = 'light' | 'dark';

const KEY = 'mercer.theme';
const ThemeContext = createContext<Theme>('light');
export const ThemeProvider = ThemeContext.Provider;

export function useTheme(): Theme {
  return useContext(ThemeContext);
}

export function useThemeChoice(): { choice: Choice; theme: Theme; choose: (choice: Choice) => void } {
  const [choice, setChoice] = useState<Choice>(() => (localStorage.getItem(KEY) as Choice | null) ?? 'auto');
  const system = matchMedia('(prefers-color-scheme: dark)');
  const [dark, setDark] = useState(system.matches);
  useEffect(() => {
    const update = () => setDark(system.matches);
    system.addEventListener('change', update);
    return () => system.removeEventListener('change', update);
  }, []);
  const theme: Theme = choice === 'auto' ? (dark ? 'dark' : 'light') : choice;
  document.documentElement.dataset['theme'] = theme;
  return {
    choice,
    theme,
    choose: (next) => {
      localStorage.setItem(KEY, next);
      setChoice(next);
    },
  };
}

const NEXT: Record<Choice, Choice> = { auto: 'light', light: 'dark', dark: 'auto' };
const SIGNS: Record<Choice, string> = { auto: '◐', light: '☀', dark: '☾' };

export function ThemeButton({ choice, choose }: { choice: Choice; choose: (choice: Choice) => void }) {
  const text = `Colours: ${choice === 'auto' ? 'as the system' : choice}`;
  return (
    <button type="button" class="icon-button" title={text} aria-label={`${text}. Change`} onClick={() => choose(NEXT[choice])}>
      <span aria-hidden="true">{SIGNS[choice]}</span>
    </button>
  );
}

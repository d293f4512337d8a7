// Numbers of protobuf's JSON mapping, to and from text that people write.
import type { Int64, Real } from '../api/types.ts';

/** null: absent or not finite, so that a chart leaves it out. */
export function parseReal(value: Real | undefined): number | null {
  if (value === undefined) return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

export function toNumber(value: Int64 | Real | undefined): number {
  return Number(value ?? 0);
}

/** Seconds of "1.5s". */
export function parseDuration(text: string | undefined): number | undefined {
  if (!text?.endsWith('s')) return undefined;
  const seconds = Number(text.slice(0, -1));
  return Number.isFinite(seconds) ? seconds : undefined;
}

/** "90", "1.5h", "10 min" as the JSON of a duration; undefined when it is none. */
export function durationFromText(text: string): string | undefined {
  const match = /^\s*([0-9]*\.?[0-9]+)\s*(s|sec|min|m|h|d)?\s*$/.exec(text);
  if (!match) return undefined;
  const factor = { s: 1, sec: 1, m: 60, min: 60, h: 3600, d: 86400 }[match[2] ?? 's'] ?? 1;
  return `${Number((Number(match[1]) * factor).toFixed(9))}s`;
}

const INFINITY = /^([+-]?)(inf|infinity|∞)$/i;

/** What people write for a real number, as JSON; undefined when it is none. */
export function realFromText(text: string): Real | undefined {
  const trimmed = text.trim();
  const infinite = INFINITY.exec(trimmed);
  if (infinite) return infinite[1] === '-' ? '-Infinity' : 'Infinity';
  if (trimmed === '' || !/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?$/i.test(trimmed)) return undefined;
  const number = Number(trimmed);
  return Number.isFinite(number) ? number : undefined;
}

/** Numbers between commas or blanks, in brackets or not; undefined when one of them is none. */
export function realsFromText(text: string): Real[] | undefined {
  const words = text.replace(/^\s*\[(.*)\]\s*$/s, '$1').split(/[\s,;]+/).filter(Boolean);
  const reals = words.map(realFromText);
  return reals.some((real) => real === undefined) ? undefined : (reals as Real[]);
}

export function textFromReal(value: Real | undefined): string {
  if (value === undefined) return '';
  if (value === 'Infinity') return 'inf';
  return value === '-Infinity' ? '-inf' : String(value);
}

// Reads the texts of a form; what is not what the field holds becomes a violation at the field's path, as the service would answer.
import type { FieldViolation, Real } from '../api/types.ts';
import { durationFromText, realFromText, realsFromText } from '../lib/numbers.ts';

export class Reader {
  readonly violations: FieldViolation[] = [];

  private read<T>(path: string, text: string, parsed: T | undefined, wanted: string): T | undefined {
    if (text.trim() === '') return undefined;
    if (parsed === undefined) this.violations.push({ field: path, description: `"${text.trim()}" is not ${wanted}` });
    return parsed;
  }

  real(path: string, text: string): Real | undefined {
    return this.read(path, text, realFromText(text), 'a number');
  }

  reals(path: string, text: string): Real[] | undefined {
    return this.read(path, text, realsFromText(text), 'a list of numbers');
  }

  integer(path: string, text: string): number | undefined {
    const value = realFromText(text);
    return this.read(path, text, typeof value === 'number' && Number.isInteger(value) ? value : undefined, 'a whole number');
  }

  /** Beyond 2^53 a number would lose digits, so it stays a text, as JSON has it. */
  int64(path: string, text: string): string | undefined {
    return this.read(path, text, /^\s*-?[0-9]+\s*$/.test(text) ? text.trim() : undefined, 'a whole number');
  }

  duration(path: string, text: string): string | undefined {
    return this.read(path, text, durationFromText(text), 'a time, as 90 s, 10 min or 2 h');
  }

  /** "team=spam, run=3". */
  labels(path: string, text: string): Record<string, string> | undefined {
    const pairs = text.split(',').map((pair) => pair.trim()).filter(Boolean);
    if (pairs.length === 0) return undefined;
    const split = pairs.map((pair) => pair.split(/=(.*)/s).slice(0, 2).map((part) => part.trim()));
    const right = split.every((pair) => pair.length === 2);
    return this.read(path, text, right ? (Object.fromEntries(split) as Record<string, string>) : undefined, 'a list of key=value');
  }
}

export function listFromText(text: string): string[] {
  return text.split(',').map((part) => part.trim()).filter(Boolean);
}

/** A message without its empty members; undefined when nothing is left. */
export function withoutEmpty<T extends object>(message: T): T | undefined {
  const members = Object.entries(message).filter(([, value]) => value !== undefined && value !== '' && value !== false);
  return members.length > 0 ? (Object.fromEntries(members) as T) : undefined;
}

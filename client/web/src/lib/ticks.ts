// Where the lines of a chart's grid are.

/** At most about `count` round numbers (1, 2 or 5 times a power of ten apart) within [low, high]. */
export function roundTicks(low: number, high: number, count: number): number[] {
  if (!(high > low)) return [low];
  const raw = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, index) => Number(((first + index) * step).toPrecision(12)));
}

/** Powers of ten within [low, high], every so many that there are at most `count`; of less than a decade round numbers. */
export function decadeTicks(low: number, high: number, count: number): number[] {
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  if (last - first < 1) return roundTicks(low, high, count);
  const every = Math.ceil((last - first + 1) / count);
  return Array.from({ length: Math.floor((last - first) / every) + 1 }, (_, index) => 10 ** (first + index * every));
}

/** The range of the numbers with a margin; of equal ones something around them. */
export function rangeOf(values: readonly number[], margin = 0.05): [number, number] {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return [0, 1];
  const [low, high] = [finite.reduce((a, b) => Math.min(a, b), Infinity), finite.reduce((a, b) => Math.max(a, b), -Infinity)];
  const room = high > low ? margin * (high - low) : Math.abs(high) / 10 || 1;
  return [low - room, high + room];
}

/** Indices of the values in runs of at most `most` between gaps: a line through them would hardly be seen. */
export function shortRuns(values: ArrayLike<number | null | undefined>, most: number): number[] {
  const found: number[] = [];
  let begin = 0;
  for (let index = 0; index <= values.length; ++index) {
    const value = index < values.length ? values[index] : null;
    if (value !== null && value !== undefined) continue;
    if (index - begin <= most) for (let place = begin; place < index; ++place) found.push(place);
    begin = index + 1;
  }
  return found;
}

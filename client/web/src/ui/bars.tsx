// Horizontal bars with their values; negative ones to the left of the middle.
import { formatReal } from '../lib/format.ts';
import { useFirst } from './more.tsx';

export interface Bar {
  label: string;
  title?: string;
  value: number;
  /** A second bar beneath the first, for comparisons. */
  other?: number;
}

interface BarsProps {
  bars: Bar[];
  label: string;
  first?: number;
  format?: (value: number) => string;
}

const threeDigits = (value: number) => formatReal(value, 3);

export function Bars({ bars, label, first = 15, format = threeDigits }: BarsProps) {
  const [shown, more] = useFirst(bars, first, 100, (rest) => `with ${format(rest.reduce((sum, bar) => sum + bar.value, 0))} in all`);
  const largest = bars.reduce((most, bar) => Math.max(most, Math.abs(bar.value), Math.abs(bar.other ?? 0)), 1e-300);
  const signed = bars.some((bar) => bar.value < 0 || (bar.other ?? 0) < 0);
  return (
    <>
      <ol class={`bars ${signed ? 'signed' : ''}`} aria-label={label}>
        {shown.map((bar, index) => (
          <li key={index} title={bar.title}>
            <span class="bars-label">{bar.label}</span>
            <span class="bars-track" aria-hidden="true">
              <Stripe value={bar.value} largest={largest} signed={signed} kind="one" />
              {bar.other === undefined ? null : <Stripe value={bar.other} largest={largest} signed={signed} kind="two" />}
            </span>
            <span class="bars-value">
              {format(bar.value)}
              {bar.other === undefined ? null : <span class="bars-other">{format(bar.other)}</span>}
            </span>
          </li>
        ))}
      </ol>
      {more}
    </>
  );
}

function Stripe({ value, largest, signed, kind }: { value: number; largest: number; signed: boolean; kind: string }) {
  const share = (100 * Math.abs(value)) / largest / (signed ? 2 : 1);
  const left = signed ? (value < 0 ? 50 - share : 50) : 0;
  return <span class={`stripe ${kind} ${value < 0 ? 'negative' : ''} ${value === 0 ? 'none' : ''}`} style={{ width: `${share}%`, marginLeft: `${left}%` }} />;
}

// Points, lines and bars over two axes, as SVG: what does not change while it is looked at.
import { useTheme } from './theme.tsx';
import { formatReal } from '../lib/format.ts';
import type { Point } from '../lib/held_out.ts';
import { decadeTicks, rangeOf, roundTicks } from '../lib/ticks.ts';

export interface PlotSeries {
  label: string;
  /** A custom property of the style sheet: "--series-1". */
  colour: string;
  kind: 'line' | 'points' | 'line and points' | 'bars';
  points: Point[];
  /** Half the height of a vertical line through each point. */
  spread?: number[];
  /** Points that stand out. */
  marked?: boolean[];
  dash?: boolean;
}

interface XyPlotProps {
  series: PlotSeries[];
  xLabel: string;
  yLabel: string;
  /** What the picture shows, for those who cannot see it. */
  description: string;
  xRange?: [number, number];
  yRange?: [number, number];
  logX?: boolean;
  /** A line from one corner to the other: what chance alone gives. */
  diagonal?: boolean;
  /** A horizontal line. */
  level?: number;
  formatX?: (value: number) => string;
  formatY?: (value: number) => string;
}

const [WIDTH, HEIGHT, TOP, BOTTOM] = [420, 280, 10, 46];
const GLYPH = 6.9;
const threeDigits = (value: number) => formatReal(value, 3);

export function XyPlot(props: XyPlotProps) {
  useTheme();
  const { series, formatX = threeDigits, formatY = threeDigits } = props;
  const all = series.flatMap(({ points, spread }) => points.map(([x, y], index) => [x, y, spread?.[index] ?? 0] as const));
  const logOf = (value: number) => (props.logX ? Math.log10(value) : value);
  const [left, right] = props.xRange ?? rangeOf(all.map(([x]) => logOf(x)));
  const [low, high] = props.yRange ?? rangeOf([...all.flatMap(([, y, spread]) => [y - spread, y + spread]), ...(props.level === undefined ? [] : [props.level])]);
  const yTicks = roundTicks(low, high, 5);
  // As wide as the longest number, so that none is cut.
  const margin = 26 + GLYPH * Math.max(...yTicks.map((tick) => formatY(tick).length));
  const xTicks = props.logX ? decadeTicks(10 ** left, 10 ** right, 5) : roundTicks(left, right, 5);
  const end = WIDTH - Math.max(8, (GLYPH / 2) * formatX(xTicks.at(-1) ?? 0).length);
  const toX = (x: number) => margin + ((logOf(x) - left) / (right - left)) * (end - margin);
  const toY = (y: number) => HEIGHT - BOTTOM - ((y - low) / (high - low)) * (HEIGHT - BOTTOM - TOP);
  return (
    <figure class="xy">
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} role="img" aria-label={props.description}>
        {yTicks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={margin} x2={end} y1={toY(tick)} y2={toY(tick)} />
            <text x={margin - 6} y={toY(tick) + 4} text-anchor="end">
              {formatY(tick)}
            </text>
          </g>
        ))}
        {xTicks.map((tick) => (
          <g key={tick}>
            <line class="grid" x1={toX(tick)} x2={toX(tick)} y1={TOP} y2={HEIGHT - BOTTOM} />
            <text x={toX(tick)} y={HEIGHT - BOTTOM + 16} text-anchor="middle">
              {formatX(tick)}
            </text>
          </g>
        ))}
        <text class="axis-name" x={(margin + end) / 2} y={HEIGHT - 8} text-anchor="middle">
          {props.xLabel}
        </text>
        <text class="axis-name" transform={`translate(12 ${(HEIGHT - BOTTOM + TOP) / 2}) rotate(-90)`} text-anchor="middle">
          {props.yLabel}
        </text>
        {props.diagonal ? <line class="level" x1={margin} y1={HEIGHT - BOTTOM} x2={end} y2={TOP} /> : null}
        {props.level === undefined ? null : <line class="level" x1={margin} x2={end} y1={toY(props.level)} y2={toY(props.level)} />}
        {series.map((one) => (
          <Marks key={one.label} series={one} toX={toX} toY={toY} base={toY(Math.max(low, 0))} />
        ))}
      </svg>
      {series.length > 1 ? <Legend series={series} /> : null}
    </figure>
  );
}

function Marks({ series, toX, toY, base }: { series: PlotSeries; toX: (x: number) => number; toY: (y: number) => number; base: number }) {
  const { kind, points, spread, marked } = series;
  const paint = `var(${series.colour})`;
  if (kind === 'bars') {
    const width = Math.max(1, Math.abs(toX(points[1]?.[0] ?? 0) - toX(points[0]?.[0] ?? 0)) - 1);
    return (
      <g fill={paint}>
        {points.map(([x, y]) => (
          <rect key={x} x={toX(x) - width / 2} width={width} y={Math.min(toY(y), base)} height={Math.abs(base - toY(y))} />
        ))}
      </g>
    );
  }
  const path = points.map(([x, y], index) => `${index === 0 ? 'M' : 'L'}${toX(x).toFixed(1)} ${toY(y).toFixed(1)}`).join('');
  return (
    <g>
      {kind === 'points' ? null : <path class="line" d={path} stroke={paint} stroke-dasharray={series.dash ? '6 4' : undefined} />}
      {points.map(([x, y], index) => {
        const half = spread?.[index] ?? 0;
        return half > 0 ? <line key={index} class="spread" stroke={paint} x1={toX(x)} x2={toX(x)} y1={toY(y - half)} y2={toY(y + half)} /> : null;
      })}
      {kind === 'line'
        ? null
        : points.map(([x, y], index) => (
            <circle key={index} class={marked?.[index] ? 'marked' : ''} cx={toX(x)} cy={toY(y)} r={marked?.[index] ? 6 : kind === 'points' ? 2.5 : 3.5} fill={paint} />
          ))}
    </g>
  );
}

function Legend({ series }: { series: PlotSeries[] }) {
  return (
    <figcaption class="legend">
      {series.map((one) => (
        <span key={one.label}>
          <svg viewBox="0 0 18 8" aria-hidden="true">
            <line x1="0" x2="18" y1="4" y2="4" stroke={`var(${one.colour})`} stroke-width="3" stroke-dasharray={one.dash ? '6 4' : undefined} />
          </svg>
          {one.label}
        </span>
      ))}
    </figcaption>
  );
}

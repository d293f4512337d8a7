// A line chart: uPlot, with the colours of the theme. Data are set in place, at most once per frame.
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { formatReal } from '../lib/format.ts';
import { shortRuns } from '../lib/ticks.ts';
import { useTheme } from './theme.tsx';

export interface ChartSeries {
  label: string;
  /** A custom property of the style sheet: "--series-1". */
  colour: string;
  values: (number | null)[];
  dash?: number[];
  axis?: 'left' | 'right';
}

export interface ChartProps {
  /** Ascending. */
  x: number[];
  series: ChartSeries[];
  /** `step`: between the lines of the grid. */
  formatX: (value: number, step?: number) => string;
  formatY?: (value: number) => string;
  log?: boolean;
  /** Fills between the first two series. */
  band?: boolean;
  /** Vertical lines. */
  marks?: number[];
  /** A horizontal line: what is to be reached. */
  level?: number | undefined;
  /** Of the data: a chart is drawn again when it changes. */
  version: number;
  /** What the chart shows, for those who cannot see it. */
  description: string;
}

const HEIGHT = 220;
const FONT = '12px system-ui, sans-serif';
// Pixels of a digit of that font, rounded up.
const GLYPH = 7.5;
// So many points in a row are drawn as points too, all of them when there are no more than the second number.
const [FEW_IN_A_ROW, FEW] = [8, 60];

export function Chart(props: ChartProps) {
  const holder = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const theme = useTheme();
  const shape = `${props.log}|${props.series.map((series) => series.label).join()}|${theme}|${props.formatX(0)}`;

  useEffect(() => {
    const element = holder.current;
    if (!element) return undefined;
    plot.current = new uPlot(optionsFor(latest, element), dataOf(latest.current), element);
    const resize = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resize.observe(element);
    return () => {
      resize.disconnect();
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [shape]);

  useEffect(() => plot.current?.setData(dataOf(props)), [props.version, props.x]);

  return <div class="chart" ref={holder} role="img" aria-label={props.description} />;
}

function dataOf(props: ChartProps): uPlot.AlignedData {
  const positive = (values: (number | null)[]) => values.map((value) => (value !== null && value > 0 ? value : null));
  return [props.x, ...props.series.map((series) => (props.log ? positive(series.values) : series.values))];
}

function optionsFor(latest: { current: ChartProps }, element: HTMLElement): uPlot.Options {
  const style = getComputedStyle(element);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const props = latest.current;
  const formatY = (value: number) => (latest.current.formatY ?? ((number) => formatReal(number, 3)))(value);
  const axis = { stroke: colour('--muted'), font: FONT, grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  const right = props.series.some((series) => series.axis === 'right');
  const yAxis = (scale: string, side: 1 | 3, grid: boolean): uPlot.Axis => ({
    ...axis,
    scale,
    side,
    // As wide as the longest number, so that none is cut.
    size: (_, values) => Math.max(44, 16 + GLYPH * Math.max(0, ...(values ?? []).map((value) => value?.length ?? 0))),
    grid: { ...axis.grid, show: grid, ...(props.log ? { filter: decades } : {}) },
    values: (_, splits) => splits.map((split) => (split === null ? null : formatY(split))),
  });
  return {
    width: element.clientWidth || 300,
    height: HEIGHT,
    padding: [12, right ? null : (plot) => Math.max(22, (GLYPH / 2) * longestX(plot, latest)), 0, 0],
    cursor: { points: { size: 7 }, drag: { x: true, y: false } },
    legend: { live: true },
    scales: {
      x: { time: false },
      y: props.log ? { distr: 3, log: 10, range: logRange(latest) } : {},
      ...(right ? { y2: {} } : {}),
    },
    axes: [
      { ...axis, size: 34, space: 70, values: (_, splits, _axis, _space, step) => splits.map((split) => latest.current.formatX(split, step)) },
      yAxis('y', 3, true),
      ...(right ? [yAxis('y2', 1, false)] : []),
    ],
    series: [
      { label: '', value: (_, value) => (value === null ? '' : latest.current.formatX(value)) },
      ...props.series.map((series) => ({
        label: series.label,
        scale: series.axis === 'right' ? 'y2' : 'y',
        stroke: colour(series.colour),
        width: 2,
        ...(series.dash ? { dash: series.dash } : {}),
        points: { show: true, filter: pointsOf, size: 5, fill: colour('--surface') },
        value: (plot: uPlot, value: number | null, index: number) => formatReal(value ?? lastOf(plot.data[index]), 5),
      })),
    ],
    ...(props.band ? { bands: [{ series: [1, 2], fill: colour('--band') }] } : {}),
    hooks: { draw: [(plot) => drawMarks(plot, latest.current, colour('--muted'))] },
  };
}

/** Characters of the number at the right end of the axis. */
function longestX(plot: uPlot, latest: { current: ChartProps }): number {
  return latest.current.formatX(plot.scales['x']?.max ?? 0).length;
}

/** Which points of a curve are drawn: a line alone would not show one that stands alone, or a few. */
function pointsOf(plot: uPlot, index: number): number[] {
  const values = plot.data[index] ?? [];
  return shortRuns(values, values.length <= FEW ? FEW : FEW_IN_A_ROW);
}

/** The legend shows the latest values while nothing is pointed at. */
function lastOf(values: ArrayLike<number | null | undefined> | undefined): number | null {
  for (let index = (values?.length ?? 0) - 1; index >= 0; --index) {
    const value = values?.[index];
    if (value !== null && value !== undefined) return value;
  }
  return null;
}

function decades(_: uPlot, splits: number[]): (number | null)[] {
  return splits.map((split) => (Math.abs(Math.log10(split) % 1) < 1e-9 ? split : null));
}

/** Whole decades around the data and the level. */
function logRange(latest: { current: ChartProps }) {
  return (_: uPlot, min: number | null, max: number | null): [number, number] => {
    const level = latest.current.level ?? Infinity;
    const low = Math.min(min && min > 0 ? min : 0.1, level);
    const high = Math.max(max && max > 0 ? max : 1, latest.current.level ?? 0);
    const [from, to] = [10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))];
    return from < to ? [from, to] : [from / 10, to * 10];
  };
}

function drawMarks(plot: uPlot, props: ChartProps, colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.strokeStyle = colour;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  ctx.beginPath();
  for (const mark of props.marks ?? []) {
    const x = plot.valToPos(mark, 'x', true);
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
  }
  if (props.level !== undefined) {
    const y = plot.valToPos(props.level, 'y', true);
    ctx.moveTo(bbox.left, y);
    ctx.lineTo(bbox.left + bbox.width, y);
  }
  ctx.stroke();
  ctx.restore();
}

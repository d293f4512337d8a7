// Values as people read them.

const integers = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function formatInteger(value: number | string | undefined): string {
  return integers.format(Number(value ?? 0));
}

/** Significant digits without trailing zeros: 1175.6, 0.0389, 9.9e-5. */
export function formatReal(value: number | string | null | undefined, digits = 4): string {
  if (value === undefined || value === null || value === '') return '–';
  const number = Number(value);
  if (Number.isNaN(number)) return '–';
  if (!Number.isFinite(number)) return number > 0 ? '∞' : '−∞';
  if (number === 0) return '0';
  const size = Math.abs(number);
  if (size < 1e-3 || size >= 1e7) return minus(number.toExponential(Math.min(digits, 3) - 1).replace(/\.?0*e\+?/, 'e'));
  const rounded = Number(number.toPrecision(digits));
  return size >= 1e4 ? minus(integers.format(Math.round(number))) : minus(String(rounded));
}

function minus(text: string): string {
  return text.replace(/^-/, '−');
}

/** A share of one, in per cent. */
export function formatPercent(value: number | string | null | undefined, digits = 1): string {
  if (value === undefined || value === null) return '–';
  return `${(100 * Number(value)).toFixed(digits)} %`;
}

const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function formatBytes(value: number | string | undefined): string {
  let number = Number(value ?? 0);
  let unit = 0;
  while (number >= 1024 && unit < BYTE_UNITS.length - 1) {
    number /= 1024;
    ++unit;
  }
  return `${unit === 0 || number >= 100 ? Math.round(number) : Number(number.toPrecision(2))} ${BYTE_UNITS[unit]}`;
}

/** `step`: by how much those that stand beside it differ. */
export function formatSeconds(seconds: number | undefined, step = 1): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return '–';
  if (seconds < 0.0995) return `${Math.max(0, Math.round(seconds * 1000))} ms`;
  const digits = step < 0.1 ? Math.ceil(-Math.log10(step)) : 1;
  if (seconds < 9.95 || (seconds < 59.5 && step < 1)) return `${seconds.toFixed(digits)} s`;
  if (seconds < 59.5) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (seconds < 600) return `${Math.floor(seconds / 60)} min ${String(Math.floor(seconds % 60)).padStart(2, '0')} s`;
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${String(minutes % 60).padStart(2, '0')} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** "just now", "3 min ago", and a date for what is older than a week. */
export function formatAgo(time: string | undefined, now: number): string {
  if (!time) return '–';
  const seconds = (now - Date.parse(time)) / 1000;
  if (Number.isNaN(seconds)) return '–';
  if (seconds < 10) return 'just now';
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 7 * 86_400) return `${Math.floor(seconds / 86_400)} d ago`;
  return new Date(time).toLocaleDateString(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
}

export function formatTime(time: string | undefined): string {
  return time ? new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' }) : '–';
}

export function formatClock(time: string | undefined): string {
  return time ? new Date(time).toLocaleTimeString(undefined, { hour12: false }) : '–';
}

/** The last part of a resource's name: "jobs/a" -> "a". */
export function idOf(name: string | undefined): string {
  return name?.split('/').pop() ?? '';
}

/** "of ann"; empty where nobody owns it, or everybody: a server without tokens. */
export function ownerWords(owner: string | undefined): string {
  return owner && owner !== 'anyone' ? `of ${owner}` : '';
}

/** An enum's value in words: ("SCALING_MIN_MAX", "SCALING_") -> "min max". */
export function wordsOf(value: string | undefined, prefix: string): string {
  const rest = value?.startsWith(prefix) ? value.slice(prefix.length) : (value ?? '');
  return rest.toLowerCase().replaceAll('_', ' ');
}

/** "held_out.balanced_accuracy" -> "balanced accuracy"; "low_rank.joint_rank" -> "low rank: joint rank". */
export function metricWords(name: string | undefined): string {
  return (name ?? '').replace(/^(held_out|folds)\./, '').replace('.', ': ').replaceAll('_', ' ').replace(/^auc$/, 'AUC').replace(/^rmse$/, 'RMSE').replace(/^r2$/, 'R²');
}

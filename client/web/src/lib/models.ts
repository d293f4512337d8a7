// What the pages say of models.
import type { AliasChange, Certificate, Metric, ModelVersion, OptionSetting } from '../api/model_types.ts';
import type { TrainRequest } from '../api/types.ts';
import { formatPercent, formatReal, metricWords, wordsOf } from './format.ts';
import { PATH_TABLE, tableRows } from './model_tables.ts';
import { textFromReal } from './numbers.ts';

/** "models/spam/versions/3" -> { model: "spam", version: 3 }. */
export function partsOf(name: string): { model: string; version: number } {
  const match = /^models\/([^/]+)(?:\/versions\/(\d+))?$/.exec(name);
  return { model: match?.[1] ?? name, version: Number(match?.[2] ?? 0) };
}

export function versionWords(name: string): string {
  const { model, version } = partsOf(name);
  return version > 0 ? `${model} · version ${version}` : model;
}

/** "models/spam/aliases/live" -> "live". */
export function aliasOf(name: string): string {
  return name.split('/aliases/')[1] ?? '';
}

const TASKS_SHOWN = 6;

/** "tasks ann, bob (column subject)"; of many the first and how many they are. */
export function tasksText({ column = '', names = [] }: { column?: string; names?: string[] }): string {
  const count = names.length > TASKS_SHOWN ? `${names.length} tasks: ` : 'tasks ';
  return `${count}${names.slice(0, TASKS_SHOWN).join(', ')}${names.length > TASKS_SHOWN ? ', …' : ''} (column ${column})`;
}

export function optionText(option: OptionSetting): string {
  if (option.textValue !== undefined) return option.textValue.replaceAll('_', ' ');
  if (option.boolValue !== undefined) return option.boolValue ? 'yes' : 'no';
  if (option.realsValue) return (option.realsValue.values ?? []).map(textFromReal).join(', ');
  if (option.integerValue !== undefined) return String(option.integerValue);
  return option.realValue === undefined ? '0' : formatReal(option.realValue);
}

/** Shares are shown in per cent, errors in their unit. */
export function metricText(name: string | undefined, value: number | string | undefined): string {
  return /(accuracy|auc)$/.test(name ?? '') ? formatPercent(value ?? 0, 2) : formatReal(value ?? 0);
}

/** Metrics of the validation; the verifier may have measured more. */
export function validationMetrics(model: ModelVersion): Metric[] {
  return (model.metrics ?? []).filter((metric) => metricSource(metric) !== '');
}

/** One value of a path and what it came to. */
export interface PathValue {
  value: number;
  score: number;
  /** Of the score over the folds: 0 without any. */
  deviation: number;
  activeTerms: number;
  gap: number;
  best: boolean;
}

/** What the table of a path says; empty when the model is not of one. `score` names what the values were compared by. */
export function pathOf(model: ModelVersion): { score: string; values: PathValue[] } {
  const table = model.tables?.find(({ name }) => name === PATH_TABLE);
  const columns = table?.columns ?? [];
  const best = Number(model.metrics?.find(({ name }) => name === 'path.best')?.value);
  const score = columns.includes('rmse') ? 'rmse' : 'accuracy';
  const values = (table ? tableRows(table) : []).map(({ label, values: found }, row) => {
    const of = (name: string) => found[columns.indexOf(name)] ?? NaN;
    return {
      value: Number(label),
      score: of(score),
      deviation: of(`${score} deviation`) || 0,
      activeTerms: of('active_terms'),
      gap: of('relative_gap'),
      best: best === row + 1,
    };
  });
  return { score, values };
}

const OF_TASK = /^(?:held_out|folds)\.task\.(.*)\.([^.]+)$/s;

/** Metrics but for those of a path, of single tasks, and limits and early ends, which warnings put into words. */
export function plainMetrics(model: ModelVersion): Metric[] {
  return (model.metrics ?? []).filter(({ name }) => !/^(path|limit_reached|left_out)\./.test(name ?? '') && !OF_TASK.test(name ?? ''));
}

/** What the server has to say of a training: of its model, or before there is one what it decided for the request, or would. */
export function warningsOf(model: ModelVersion | undefined, request: Pick<TrainRequest, 'decisions'> | undefined): string[] {
  return (model ? model.warnings : request?.decisions)?.flatMap(({ message }) => message ?? []) ?? [];
}

/** What "folds.task.ann.rmse" says of each task that was measured: its texts by metric, of which a task may lack some. */
export function taskMetrics(model: ModelVersion): { metrics: string[]; tasks: { task: string; texts: Map<string, string> }[] } {
  const tasks = new Map<string, Map<string, string>>();
  for (const { name, value } of model.metrics ?? []) {
    const [, task, metric] = OF_TASK.exec(name ?? '') ?? [];
    if (task === undefined || metric === undefined) continue;
    tasks.set(task, (tasks.get(task) ?? new Map<string, string>()).set(metric, metricText(metric, value)));
  }
  const metrics = [...new Set([...tasks.values()].flatMap((texts) => [...texts.keys()]))];
  return { metrics, tasks: [...tasks].map(([task, texts]) => ({ task, texts })) };
}

/** "folds.accuracy" -> "over the folds"; "held_out.accuracy" -> "on held-out rows". */
export function metricSource(metric: Metric): string {
  if (metric.name?.startsWith('folds.')) return 'over the folds';
  return metric.name?.startsWith('held_out.') ? 'on held-out rows' : '';
}

/** What a headline has room for: at most two measures of quality. */
export function headlineMetrics(model: ModelVersion): Metric[] {
  return validationMetrics(model)
    .filter(({ name }) => /^[a-z_]+\.(accuracy|balanced_accuracy|auc|rmse|r2)$/.test(name ?? ''))
    .slice(0, 2);
}

/** Where a metric comes from, with its standard deviation over the folds. */
export function metricNote(model: ModelVersion, metric: Metric): string {
  const spread = (model.heldOut?.spreads ?? []).find(({ name }) => name === metric.name);
  return spread ? `± ${metricText(metric.name, spread.standardDeviation)} ${metricSource(metric)}` : metricSource(metric);
}

/** The one metric that a list has room for. */
export function mainMetricOf(model: ModelVersion): Metric | undefined {
  const metrics = validationMetrics(model);
  return metrics.find(({ name }) => /^[a-z_]+\.(accuracy|r2)$/.test(name ?? '')) ?? metrics[0];
}

export function mainMetric(model: ModelVersion): string {
  const metric = mainMetricOf(model);
  return metric ? `${metricText(metric.name, metric.value)} ${metricWords(metric.name)}` : '–';
}

export function certificateWords(certificate: Certificate | undefined): string {
  switch (certificate?.kind) {
    case 'CERTIFICATE_KIND_GAP':
      return `The objective is proven to be within ${gapPercent(certificate.accuracy)} of the optimum.`;
    case 'CERTIFICATE_KIND_STATIONARITY':
      return `The stationarity measure is ${formatReal(certificate.accuracy, 2)}.`;
    case 'CERTIFICATE_KIND_NONE':
      return 'The method solves no optimisation problem, so there is nothing to certify.';
    default:
      return 'The model has no certificate.';
  }
}

function gapPercent(accuracy: number | string | undefined): string {
  // Below 0 by rounding alone.
  return `${formatReal(100 * Math.max(0, Number(accuracy ?? 0)), 2)} %`;
}

export function stopWords(reason: string | undefined): string {
  return wordsOf(reason, 'STOP_REASON_');
}

/** "version 1 → version 2"; the version may be gone by now. */
export function moveWords(change: AliasChange): string {
  const place = (name: string | undefined) => (name ? `version ${partsOf(name).version}` : '');
  if (!change.to) return `removed from ${place(change.from)}`;
  if (!change.from) return `set to ${place(change.to)}`;
  return `${place(change.from)} → ${place(change.to)}${change.rollback ? ', rolled back' : ''}`;
}

/** `history`: newest first. What the last move made has no version before it. */
export function canRollBack(history: AliasChange[]): boolean {
  return Boolean(history[0]?.from);
}

/** What is measured: "Stationarity", which proves no optimum, where the problem is not convex. */
export function accuracyWords(certificate: Certificate | undefined): string {
  return certificate?.kind === 'CERTIFICATE_KIND_STATIONARITY' ? 'Stationarity' : 'Relative gap';
}

/** The proven distance to the optimum; undefined: another measure, or none. */
export function certifiedGap(certificate: Certificate | undefined): number | undefined {
  return certificate?.kind === 'CERTIFICATE_KIND_GAP' ? Number(certificate.accuracy ?? 0) : undefined;
}

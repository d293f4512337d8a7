// A training request in words.
import type { Job, KernelGrid, LearnerOptions, TrainRequest } from '../api/types.ts';
import { snakeCase } from '../form/names.ts';
import { formatReal, formatSeconds, idOf, wordsOf } from './format.ts';
import { modelOfRequest } from './jobs.ts';
import { versionWords } from './models.ts';
import { parseDuration } from './numbers.ts';

function widths(grid: KernelGrid): string {
  switch (grid.rule) {
    case 'BANDWIDTH_RULE_LOG_SPACED':
      return `${grid.count} widths ${formatReal(grid.minBandwidth)} … ${formatReal(grid.maxBandwidth)}`;
    case 'BANDWIDTH_RULE_MEDIAN_MULTIPLES':
      if (grid.count) return `median × ${grid.count} values ${formatReal(grid.minBandwidth)} … ${formatReal(grid.maxBandwidth)}`;
      return grid.bandwidths?.length ? `median × ${grid.bandwidths.map((width) => formatReal(width)).join(', ')}` : 'median width';
    default:
      if (grid.bandwidths?.length) return `widths ${grid.bandwidths.map((width) => formatReal(width)).join(', ')}`;
      return `width ${formatReal(grid.bandwidth ?? 1)}`;
  }
}

const WITHOUT_WIDTH = new Set(['KERNEL_TYPE_LINEAR', 'KERNEL_TYPE_POLYNOMIAL', 'KERNEL_TYPE_PRECOMPUTED', 'KERNEL_TYPE_INTERSECTION']);

export function describeKernel(grid: KernelGrid): string {
  const type = wordsOf(grid.type, 'KERNEL_TYPE_');
  const parts = [grid.name ? `${grid.name}: ${type}` : type];
  if (!WITHOUT_WIDTH.has(grid.type ?? '')) parts.push(widths(grid));
  if (grid.type === 'KERNEL_TYPE_POLYNOMIAL') parts.push(`degree ${grid.degree ?? 3}`);
  if (grid.block) parts.push(`block ${grid.block}`);
  if (grid.columns?.length) parts.push(`columns ${grid.columns.join(', ')}`);
  if (grid.perColumn) parts.push('one per column');
  if (grid.group) parts.push(`group ${grid.group}`);
  return parts.join(', ');
}

/** The learner's name as in the description ("lp_mkl") and its options. */
export function learnerOf(request: TrainRequest | undefined): { name: string; options: LearnerOptions } {
  const [camel, options] = Object.entries(request?.learner ?? {})[0] ?? ['', {}];
  if (camel !== 'other') return { name: snakeCase(camel), options };
  const { name = '', options: texts, kernels } = options as { name?: string; options?: Record<string, string>; kernels?: KernelGrid[] };
  return { name, options: { ...texts, ...(kernels && { kernels }) } };
}

function optionText(name: string, value: unknown): string {
  const prefix = `${name.toUpperCase()}_`;
  if (typeof value === 'string' && value.startsWith(prefix)) return wordsOf(value, prefix);
  if (typeof value === 'number' || value === 'Infinity') return formatReal(value);
  return Array.isArray(value) ? value.join(', ') : String(value);
}

function validationText(request: TrainRequest): string {
  if (request.validation?.holdOut) return `hold out ${formatReal(request.validation.holdOut.fraction ?? 0.25)} of the rows`;
  if (request.validation?.folds) return `${request.validation.folds.count ?? 5} folds`;
  return 'none';
}

function stoppingText(request: TrainRequest): string {
  const { relativeGap, maxIterations, timeLimit } = request.stopping ?? {};
  const parts = [`gap ${formatReal(relativeGap ?? 1e-3, 2)}`];
  if (maxIterations) parts.push(`${maxIterations} iterations`);
  if (timeLimit) parts.push(formatSeconds(parseDuration(timeLimit)));
  return parts.join(' or ');
}

/** Terms and what they say, for people. */
export function describeRequest(request: TrainRequest): [string, string][] {
  const { name, options } = learnerOf(request);
  const items: [string, string][] = [
    ['data', (request.data ?? []).map((input) => idOf(input.dataset)).join(', ')],
    ['learner', name],
  ];
  if (request.target) items.push(['target', request.target]);
  if ((request.data ?? []).length > 1) items.push(['tasks', 'one for each data set']);
  else if (request.task !== undefined) items.push(['tasks', request.task || 'one']);
  items.push(['kind', request.targetKind ? wordsOf(request.targetKind, 'TARGET_KIND_') : 'as the target says']);
  if (request.targetScaling && request.targetKind !== 'TARGET_KIND_CLASSIFICATION') items.push(['scaling of the target', wordsOf(request.targetScaling, 'TARGET_SCALING_')]);
  for (const [camel, value] of Object.entries(options)) {
    if (camel !== 'kernels') items.push([snakeCase(camel), optionText(snakeCase(camel), value)]);
  }
  const kernels = options.kernels ?? [];
  kernels.forEach((grid, index) => items.push([kernels.length > 1 ? `kernels ${index + 1}` : 'kernels', describeKernel(grid)]));
  if (request.path) items.push(['path', `${request.path.option ?? ''}: ${(request.path.values ?? []).map((value) => formatReal(value)).join(', ')}`]);
  items.push(['validation', validationText(request)], ['ends at', stoppingText(request)]);
  const { scaling, imputation, squareRepair } = request.preprocessing ?? {};
  if (scaling) items.push(['scaling', wordsOf(scaling, 'SCALING_')]);
  if (imputation) items.push(['missing values', wordsOf(imputation, 'IMPUTATION_')]);
  if (squareRepair) items.push(['negative eigenvalues', wordsOf(squareRepair, 'SQUARE_REPAIR_')]);
  if (request.classWeights?.weighting) items.push(['class weights', wordsOf(request.classWeights.weighting, 'CLASS_WEIGHTING_')]);
  if (request.model) items.push(['model', idOf(request.model)]);
  if (request.seed) items.push(['seed', String(request.seed)]);
  if (request.priority) items.push(['priority', String(request.priority)]);
  for (const [key, value] of Object.entries(request.labels ?? {})) items.push([`label ${key}`, value]);
  return items;
}

/** The same of a job that is no training. */
export function describeWork(job: Job): [string, string][] {
  const { predictionRequest: prediction, evaluationRequest: evaluation } = job;
  const request = prediction ?? evaluation;
  const items: [string, string][] = [['model', versionWords(modelOfRequest(job) ?? '')]];
  if (request) items.push(['data', idOf(request.dataset)]);
  if (request?.task) items.push(['task', request.task]);
  if (request?.taskRule) items.push(['tasks by', wordsOf(request.taskRule, 'TASK_RULE_')]);
  if (prediction?.unseen) items.push(['unknown categories', wordsOf(prediction.unseen, 'UNSEEN_ROWS_')]);
  if (prediction?.probabilities) items.push(['probabilities', 'yes']);
  if (prediction?.keepColumns?.length) items.push(['columns kept', prediction.keepColumns.join(', ')]);
  if (job.priority) items.push(['priority', String(job.priority)]);
  return items;
}

// The form of a training, to and from the request. The learner's part follows from its description alone; texts that are empty
// leave the default to the server.
import type { ClassWeighting, Imputation, Scaling, SquareRepair, UnseenCategory } from '../api/schema.ts';
import type { FieldViolation, LearnerDescription, LearnerOptions, OptionDescription, TrainRequest } from '../api/types.ts';
import { parseDuration, textFromReal } from '../lib/numbers.ts';
import { learnerOf } from '../lib/request_words.ts';
import { type KernelForm, kernelFromMessage, kernelPaths, kernelToMessage } from './kernel_form.ts';
import { camelCase, enumName, learnerPath, optionPath, snakeCase } from './names.ts';
import { Reader, withoutEmpty } from './reader.ts';

export interface TrainForm {
  dataset: string;
  /** Further data sets, each a task of its own as `dataset` then is. */
  tasks: string[];
  /** The column that says the tasks; empty: one task, undefined: as the data set says. */
  task: string | undefined;
  target: string;
  /** Empty: the server decides it by the target. */
  kind: '' | 'CLASSIFICATION' | 'REGRESSION';
  learner: string;
  /** By the option's name. */
  options: Record<string, string>;
  kernels: KernelForm[];
  validation: 'none' | 'hold_out' | 'folds';
  /** An option of the learner, empty: no path, and its values as a text. */
  pathOption: string;
  pathValues: string;
  keepPath: boolean;
  /** Trainings on halves of the rows. */
  stability: string;
  /** Numbers of first columns of the ranking, or 'auto'; empty: no test. */
  rankingTest: string;
  holdOut: string;
  folds: string;
  relativeGap: string;
  maxIterations: string;
  timeLimit: string;
  scaling: string;
  imputation: string;
  unseenCategory: string;
  squareRepair: string;
  targetScaling: string;
  coding: string;
  classWeighting: string;
  model: string;
  displayName: string;
  labels: string;
  seed: string;
  threads: string;
  priority: string;
}

export function emptyForm(): TrainForm {
  return {
    dataset: '',
    tasks: [],
    task: undefined,
    target: '',
    kind: '',
    learner: '',
    options: {},
    kernels: [],
    validation: 'hold_out',
    pathOption: '',
    pathValues: '',
    keepPath: false,
    stability: '',
    rankingTest: '',
    holdOut: '',
    folds: '',
    relativeGap: '',
    maxIterations: '',
    timeLimit: '',
    scaling: '',
    imputation: '',
    unseenCategory: '',
    squareRepair: '',
    targetScaling: '',
    coding: '',
    classWeighting: '',
    model: '',
    displayName: '',
    labels: '',
    seed: '',
    threads: '',
    priority: '',
  };
}

/** The form for another learner: what it does not know goes. */
export function withLearner(form: TrainForm, learner: LearnerDescription): TrainForm {
  const names = new Set((learner.options ?? []).map((option) => option.name));
  const options = Object.fromEntries(Object.entries(form.options).filter(([name]) => names.has(name)));
  const kernels = learner.usesKernels ? form.kernels : [];
  const kind = !learner.classification ? 'REGRESSION' : !learner.regression ? 'CLASSIFICATION' : form.kind;
  const squareRepair = learner.usesKernels ? form.squareRepair : '';
  const stability = learner.usesKernels ? form.stability : '';
  const rankingTest = learner.ranksColumns ? form.rankingTest : '';
  return { ...form, learner: learner.name, options, kernels, squareRepair, stability, rankingTest, kind };
}

function optionValue(option: OptionDescription, text: string, path: string, reader: Reader): unknown {
  switch (option.type) {
    case 'OPTION_TYPE_BOOL':
      return text === '' ? undefined : text === 'true';
    case 'OPTION_TYPE_INTEGER':
      return reader.integer(path, text);
    case 'OPTION_TYPE_REAL':
      return reader.real(path, text);
    case 'OPTION_TYPE_REALS':
      return reader.reals(path, text);
    case 'OPTION_TYPE_CHOICE':
      return text === '' ? undefined : enumName(option.name, text);
    default:
      return text === '' ? undefined : text;
  }
}

/** A value as the server reads the text of one. */
function plainText(value: unknown): string {
  return Array.isArray(value) ? value.map(textFromReal).join(', ') : textFromReal(value as string | number);
}

function learnerMessage(form: TrainForm, learner: LearnerDescription, reader: Reader): LearnerOptions {
  const message: LearnerOptions = {};
  const texts: Record<string, string> = {};
  const path = learnerPath(learner);
  if (form.kernels.length > 0) {
    message.kernels = form.kernels.map((kernel, index) => kernelToMessage(kernel, `${path}.kernels[${index}]`, reader));
  }
  for (const option of learner.options ?? []) {
    const text = form.options[option.name] ?? '';
    const value = optionValue(option, text, optionPath(learner, option.name), reader);
    if (value === undefined) continue;
    message[camelCase(option.name)] = value;
    texts[option.name] = option.type === 'OPTION_TYPE_CHOICE' || option.type === 'OPTION_TYPE_TEXT' ? text : plainText(value);
  }
  if (!learner.needsOther) return message;
  return { name: learner.name, options: texts, ...(message.kernels && { kernels: message.kernels }) };
}

function validationMessage(form: TrainForm, reader: Reader): TrainRequest['validation'] {
  if (form.validation === 'hold_out') {
    return { holdOut: withoutEmpty({ fraction: reader.real('validation.hold_out.fraction', form.holdOut) }) ?? {} };
  }
  if (form.validation === 'folds') return { folds: withoutEmpty({ count: reader.integer('validation.folds.count', form.folds) }) ?? {} };
  return undefined;
}

function dataMessages(form: TrainForm, learner: LearnerDescription): TrainRequest['data'] {
  if (!form.dataset) return [];
  const further = learner.severalTasks ? form.tasks.filter(Boolean) : [];
  if (further.length === 0) return [{ dataset: form.dataset }];
  return [form.dataset, ...further].map((dataset) => ({ dataset, role: 'DATA_ROLE_TASK' }));
}

// The value of an enum, by its word.
const withPrefix = <E extends string>(prefix: string, value: string) => (value ? ((prefix + value) as E) : undefined);

function rankingTestMessage(text: string, reader: Reader) {
  if (text === '') return undefined;
  return text === 'auto' ? {} : { columns: reader.reals('ranking_test.columns', text) as number[] };
}

/** The request, and what in the form cannot be read. */
export function toRequest(form: TrainForm, learner: LearnerDescription): { request: TrainRequest; violations: FieldViolation[] } {
  const reader = new Reader();
  const message: TrainRequest = {
    data: dataMessages(form, learner),
    target: form.target,
    targetKind: withPrefix('TARGET_KIND_', form.kind),
    targetScaling: form.kind !== 'CLASSIFICATION' ? withPrefix('TARGET_SCALING_', form.targetScaling) : undefined,
    coding: form.kind !== 'REGRESSION' ? withPrefix('CODING_CHOICE_', form.coding) : undefined,
    learner: { [learner.needsOther ? 'other' : camelCase(learner.name)]: learnerMessage(form, learner, reader) },
    preprocessing: withoutEmpty({
      scaling: withPrefix<Scaling>('SCALING_', form.scaling),
      imputation: withPrefix<Imputation>('IMPUTATION_', form.imputation),
      unseenCategory: withPrefix<UnseenCategory>('UNSEEN_CATEGORY_', form.unseenCategory),
      squareRepair: withPrefix<SquareRepair>('SQUARE_REPAIR_', form.squareRepair),
    }),
    validation: validationMessage(form, reader),
    path: form.pathOption && form.validation !== 'none' ? { option: form.pathOption, values: reader.reals('path.values', form.pathValues), keepAll: form.keepPath || undefined } : undefined,
    stability: withoutEmpty({ resamples: reader.integer('stability.resamples', form.stability) }),
    rankingTest: form.validation !== 'none' && form.kind !== 'REGRESSION' && learner.ranksColumns ? rankingTestMessage(form.rankingTest, reader) : undefined,
    classWeights: form.kind !== 'REGRESSION' ? withoutEmpty({ weighting: withPrefix<ClassWeighting>('CLASS_WEIGHTING_', form.classWeighting) }) : undefined,
    stopping: withoutEmpty({
      relativeGap: reader.real('stopping.relative_gap', form.relativeGap),
      maxIterations: reader.int64('stopping.max_iterations', form.maxIterations),
      timeLimit: reader.duration('stopping.time_limit', form.timeLimit),
    }),
    model: form.model ? `models/${form.model.replace(/^models\//, '')}` : '',
    displayName: form.displayName,
    labels: reader.labels('labels', form.labels),
    seed: reader.int64('seed', form.seed),
    threads: reader.integer('threads', form.threads),
    priority: reader.integer('priority', form.priority),
  };
  const request = withoutEmpty(message) ?? {};
  if (form.task !== undefined && learner.severalTasks && message.data?.length === 1) request.task = form.task;
  return { request, violations: reader.violations };
}

/** Every path that the form has a field for, by which violations find it. */
export function pathsOf(form: TrainForm, learner: LearnerDescription): Set<string> {
  const path = learnerPath(learner);
  return new Set([
    'data', 'task', 'target', 'target_kind', 'learner', 'target_scaling', 'coding', 'class_weights', 'model', 'display_name', 'labels', 'seed', 'threads', 'priority',
    'validation', 'validation.hold_out.fraction', 'validation.folds.count', 'path.option', 'path.values', 'stability.resamples', 'ranking_test', 'ranking_test.columns',
    'preprocessing.scaling', 'preprocessing.imputation', 'preprocessing.unseen_category', 'preprocessing.square_repair',
    'stopping.relative_gap', 'stopping.max_iterations', 'stopping.time_limit',
    ...form.tasks.map((_, index) => `data[${index + 1}]`),
    ...(learner.options ?? []).map((option) => optionPath(learner, option.name)),
    `${path}.kernels`,
    ...form.kernels.flatMap((_, index) => kernelPaths(`${path}.kernels[${index}]`)),
  ]);
}

function optionText(name: string, value: unknown): string {
  const prefix = `${name.toUpperCase()}_`;
  if (typeof value === 'string' && value.startsWith(prefix)) return value.slice(prefix.length).toLowerCase();
  return plainText(value);
}

const without = (prefix: string, value: string | undefined) => {
  const rest = value?.startsWith(prefix) ? value.slice(prefix.length) : '';
  return rest === 'UNSPECIFIED' ? '' : rest;
};

/** To train again: what a request was, but for its request_id. */
export function fromRequest(request: TrainRequest): TrainForm {
  const { name: learner, options } = learnerOf(request);
  const named = Object.entries(options).filter(([name]) => name !== 'kernels').map(([name, value]) => [snakeCase(name), optionText(snakeCase(name), value)]);
  const limit = parseDuration(request.stopping?.timeLimit);
  return {
    ...emptyForm(),
    dataset: request.data?.[0]?.dataset ?? '',
    tasks: (request.data ?? []).slice(1).map((input) => input.dataset ?? ''),
    task: request.task,
    target: request.target ?? '',
    kind: without('TARGET_KIND_', request.targetKind) as TrainForm['kind'],
    learner,
    options: Object.fromEntries(named) as Record<string, string>,
    kernels: (options.kernels ?? []).map(kernelFromMessage),
    validation: request.validation?.holdOut ? 'hold_out' : request.validation?.folds ? 'folds' : 'none',
    holdOut: textFromReal(request.validation?.holdOut?.fraction),
    folds: textFromReal(request.validation?.folds?.count),
    pathOption: request.path?.option ?? '',
    pathValues: (request.path?.values ?? []).map(textFromReal).join(', '),
    keepPath: request.path?.keepAll ?? false,
    stability: textFromReal(request.stability?.resamples),
    rankingTest: request.rankingTest ? (request.rankingTest.columns ?? []).join(', ') || 'auto' : '',
    relativeGap: textFromReal(request.stopping?.relativeGap),
    maxIterations: String(request.stopping?.maxIterations ?? ''),
    timeLimit: limit === undefined ? '' : `${limit} s`,
    scaling: without('SCALING_', request.preprocessing?.scaling),
    imputation: without('IMPUTATION_', request.preprocessing?.imputation),
    unseenCategory: without('UNSEEN_CATEGORY_', request.preprocessing?.unseenCategory),
    squareRepair: without('SQUARE_REPAIR_', request.preprocessing?.squareRepair),
    targetScaling: without('TARGET_SCALING_', request.targetScaling),
    coding: without('CODING_CHOICE_', request.coding),
    classWeighting: without('CLASS_WEIGHTING_', request.classWeights?.weighting),
    model: (request.model ?? '').replace(/^models\//, ''),
    displayName: request.displayName ?? '',
    labels: Object.entries(request.labels ?? {}).map(([key, value]) => `${key}=${value}`).join(', '),
    seed: String(request.seed ?? ''),
    threads: request.threads === undefined ? '' : String(request.threads),
    priority: request.priority === undefined ? '' : String(request.priority),
  };
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Job, LearnerDescription, TrainRequest } from '../src/api/types.ts';
import { kernelCount, newKernel } from '../src/form/kernel_form.ts';
import { emptyForm, fromRequest, pathsOf, toRequest, withLearner } from '../src/form/train_form.ts';
import { assignViolations } from '../src/form/violations.ts';

const fixture = <T>(name: string) => JSON.parse(readFileSync(`tests/fixtures/${name}`, 'utf8')) as T;
const { learners } = fixture<{ learners: LearnerDescription[] }>('learners.json');
const jobs = fixture<{ job: Job }[]>('jobs.json');
const lpMkl = learners.find((learner) => learner.name === 'lp_mkl')!;
const svm = learners.find((learner) => learner.name === 'svm')!;

/** Without what a form need not repeat: empty messages and the id of the request. */
function essence(request: TrainRequest): unknown {
  const { requestId: _, ...rest } = request;
  return Object.fromEntries(Object.entries(rest).filter(([, value]) => typeof value !== 'object' || Object.keys(value as object).length > 0));
}

test('recorded requests come through the form unchanged', () => {
  assert.equal(jobs.length, 2);
  for (const { job } of jobs) {
    const { request, violations } = toRequest(fromRequest(job.request!), lpMkl);
    assert.deepEqual(violations, []);
    assert.deepEqual(essence(request), essence(job.request!));
  }
});

test('a learner without a message of its own is named, its options as texts', () => {
  const named: LearnerDescription = { ...svm, name: 'not_in_the_api', needsOther: true };
  const form = { ...withLearner(emptyForm(), named), dataset: 'datasets/a', options: { C: '10' }, kernels: [newKernel()] };
  const { request, violations } = toRequest(form, named);
  assert.deepEqual(violations, []);
  assert.equal(request.learner?.other?.name, 'not_in_the_api');
  assert.deepEqual(request.learner?.other?.options, { C: '10' });
  assert.equal(request.learner?.other?.kernels?.length, 1);
  assert.deepEqual(fromRequest(request).options, { C: '10' });
  assert.equal(fromRequest(request).learner, 'not_in_the_api');
  assert.ok(pathsOf(form, named).has("learner.other.options['C']"));
  const types = { widths: 'OPTION_TYPE_REALS', p: 'OPTION_TYPE_REAL', rounds: 'OPTION_TYPE_INTEGER', method: 'OPTION_TYPE_CHOICE', joint: 'OPTION_TYPE_BOOL' };
  const options = Object.entries(types).map(([name, type]) => ({ name, type })) as LearnerDescription['options'];
  // As people write them, and as the service reads them.
  const written = { widths: ' [1; 2.50 inf]', p: ' Infinity ', rounds: '1e3', method: 'method_fast', joint: 'true' };
  const sent = toRequest({ ...form, options: written }, { ...named, options });
  assert.deepEqual(sent.violations, []);
  assert.deepEqual(sent.request.learner?.other?.options, { widths: '1, 2.5, inf', p: 'inf', rounds: '1000', method: 'method_fast', joint: 'true' });
});

test('a request with every field comes through the form unchanged', () => {
  const request: TrainRequest = {
    data: [{ dataset: 'datasets/a' }],
    target: 'y',
    targetKind: 'TARGET_KIND_CLASSIFICATION',
    coding: 'CODING_CHOICE_ONE_VS_ONE',
    learner: {
      lpMkl: {
        kernels: [
          { type: 'KERNEL_TYPE_POLYNOMIAL', degree: 2, scale: 0.5, offset: 0, columns: ['a', 'b'], normalization: { unitDiagonal: true, scaling: 'KERNEL_SCALING_TRACE' } },
          { type: 'KERNEL_TYPE_GAUSSIAN', rule: 'BANDWIDTH_RULE_LOG_SPACED', minBandwidth: 0.5, maxBandwidth: 8, count: 5, block: 'x', perColumn: true },
          { type: 'KERNEL_TYPE_GAUSSIAN', rule: 'BANDWIDTH_RULE_MEDIAN_MULTIPLES', minBandwidth: 0.1, maxBandwidth: 10, count: 20 },
          { type: 'KERNEL_TYPE_DISTANCE', bandwidths: [1, 2], block: 'd', name: 'by ear', group: 'sound' },
        ],
        p: 'Infinity',
        C: 10,
        epsilon: 0,
        innerSolver: 'INNER_SOLVER_SMO',
      },
    },
    preprocessing: { scaling: 'SCALING_MIN_MAX', imputation: 'IMPUTATION_MEAN_OR_MOST_FREQUENT', unseenCategory: 'UNSEEN_CATEGORY_ALL_ZEROS', squareRepair: 'SQUARE_REPAIR_CLIP' },
    validation: { folds: { count: 3 } },
    path: { option: 'C', values: [10, 0.5], keepAll: true },
    stability: { resamples: 50 },
    classWeights: { weighting: 'CLASS_WEIGHTING_BALANCED' },
    stopping: { relativeGap: 1e-4, maxIterations: '9007199254740993', timeLimit: '90s' },
    model: 'models/m',
    displayName: 'name',
    labels: { team: 'spam', run: '3' },
    seed: '18446744073709551615',
    threads: 2,
    priority: -5,
  };
  const again = toRequest(fromRequest(request), lpMkl);
  assert.deepEqual(again.violations, []);
  assert.deepEqual(again.request, request);
});

test('a ranking is tested where the learner makes one, of classes, on rows held out', () => {
  const svmRfe = learners.find((learner) => learner.name === 'svm_rfe')!;
  const form = { ...withLearner(emptyForm(), svmRfe), rankingTest: '1, 2, 4' };
  assert.deepEqual(toRequest(form, svmRfe).request.rankingTest, { columns: [1, 2, 4] });
  assert.deepEqual(toRequest({ ...form, rankingTest: 'auto' }, svmRfe).request.rankingTest, {});
  assert.equal(toRequest({ ...form, validation: 'none' }, svmRfe).request.rankingTest, undefined);
  assert.equal(toRequest({ ...form, kind: 'REGRESSION' }, svmRfe).request.rankingTest, undefined);
  assert.equal(withLearner(form, lpMkl).rankingTest, '');
  assert.equal(fromRequest(toRequest(form, svmRfe).request).rankingTest, '1, 2, 4');
});

test('tasks are data sets, a column or none, for learners that take several', () => {
  const features: LearnerDescription = { name: 'infinite_features', classification: true, regression: true, severalTasks: true };
  const form = withLearner({ ...emptyForm(), dataset: 'datasets/a', tasks: ['datasets/b', 'datasets/c'] }, features);
  const { request } = toRequest(form, features);
  assert.deepEqual(request.data, ['a', 'b', 'c'].map((id) => ({ dataset: `datasets/${id}`, role: 'DATA_ROLE_TASK' })));
  assert.equal('task' in request, false);
  assert.deepEqual(fromRequest(request).tasks, form.tasks);
  assert.deepEqual(toRequest(withLearner(form, svm), svm).request.data, [{ dataset: 'datasets/a' }]);
  for (const task of [undefined, '', 'subject']) {
    const single = toRequest({ ...form, tasks: [], task }, features).request;
    assert.deepEqual(single.data, [{ dataset: 'datasets/a' }]);
    assert.equal(single.task, task);
    assert.equal('task' in single, task !== undefined);
    assert.equal(fromRequest(single).task, task);
  }
  const wrong = [{ field: 'data[2].dataset', description: 'is data[1] again' }, { field: 'task', description: 'is for one data set' }];
  assert.deepEqual([...assignViolations(wrong, pathsOf(form, features)).byPath.keys()], ['data[2]', 'task']);
});

test('a repair of precomputed kernels goes with the kernels', () => {
  const form = { ...withLearner(emptyForm(), lpMkl), kernels: [newKernel({ type: 'PRECOMPUTED', block: 'k' })], squareRepair: 'SHIFT' };
  assert.deepEqual(toRequest(form, lpMkl).request.preprocessing, { squareRepair: 'SQUARE_REPAIR_SHIFT' });
  assert.equal(withLearner(form, svm).squareRepair, 'SHIFT');
  assert.equal(withLearner(form, { name: 'infinite_features', classification: true }).squareRepair, '');
  const { byPath } = assignViolations([{ field: 'preprocessing.square_repair', description: 'is unknown' }], pathsOf(form, lpMkl));
  assert.deepEqual([...byPath.keys()], ['preprocessing.square_repair']);
});

test('what is empty is left to the server', () => {
  const form = withLearner({ ...emptyForm(), dataset: 'datasets/a' }, svm);
  assert.deepEqual(toRequest(form, svm).request, {
    data: [{ dataset: 'datasets/a' }],
    learner: { svm: {} },
    validation: { holdOut: {} },
  });
});

test('a stored family without a width is one of an earlier server, and of width 1', () => {
  const [kernel] = fromRequest({ learner: { svm: { kernels: [{ type: 'KERNEL_TYPE_GAUSSIAN' }, { type: 'KERNEL_TYPE_LINEAR' }] } } }).kernels;
  assert.equal(kernel?.bandwidths, '1');
});

test('what is empty is left to the server, kernels of lp_mkl too', () => {
  assert.deepEqual(toRequest(withLearner(emptyForm(), lpMkl), lpMkl).request.learner, { lpMkl: {} });
});

test('what cannot be read is a violation at the path that the service would name', () => {
  const form = { ...withLearner(emptyForm(), lpMkl), options: { p: 'much', C: '1,5' }, relativeGap: 'small', timeLimit: 'soon', labels: 'team', seed: '1.5' };
  form.kernels = [newKernel({ bandwidths: '1, wide' }), newKernel({ rule: 'LOG_SPACED', minBandwidth: 'a', count: '2.5' })];
  const { violations } = toRequest(form, lpMkl);
  assert.deepEqual(violations.map((violation) => violation.field).sort(), [
    'labels',
    'learner.lp_mkl.C',
    'learner.lp_mkl.kernels[0].bandwidths',
    'learner.lp_mkl.kernels[1].count',
    'learner.lp_mkl.kernels[1].min_bandwidth',
    'learner.lp_mkl.p',
    'seed',
    'stopping.relative_gap',
    'stopping.time_limit',
  ]);
  assert.match(violations[0]?.description ?? '', /^"1, wide" is not a list of numbers$/);
  const { rest, byPath } = assignViolations(violations, pathsOf(form, lpMkl));
  assert.deepEqual(rest, []);
  assert.equal(byPath.size, 9);
});

test('violations find the field that holds them, others are kept', () => {
  const paths = new Set(['data', 'learner.svm.kernels', 'learner.svm.kernels[0].columns']);
  const violations = [
    { field: 'training.learner.svm.kernels[0].columns[2]', description: 'unknown' },
    { field: 'training.learner.svm.kernels[1].bandwidth', description: 'negative' },
    { field: 'training.data[0].dataset', description: 'gone' },
    { field: 'training.data', description: 'bad' },
    { field: 'training.request_id', description: 'long' },
    { description: 'and 3 more' },
  ];
  const { byPath, rest } = assignViolations(violations, paths, 'training.');
  assert.deepEqual(Object.fromEntries(byPath), { 'learner.svm.kernels[0].columns': 'unknown', 'learner.svm.kernels': 'negative', data: 'gone; bad' });
  assert.deepEqual(rest, [{ field: 'request_id', description: 'long' }, { field: '', description: 'and 3 more' }]);
});

test('another learner keeps the options that it knows and the kernels', () => {
  const before = { ...withLearner(emptyForm(), lpMkl), options: { p: '1', C: '10' }, kernels: [newKernel(), newKernel()] };
  const after = withLearner(before, svm);
  assert.deepEqual(after.options, { C: '10' });
  assert.equal(after.kernels.length, 2);
  const ridge = learners.find((learner) => learner.name === 'kernel_ridge')!;
  assert.equal(withLearner(before, { ...ridge, usesKernels: false }).kernels.length, 0);
  assert.equal(withLearner(before, { ...ridge, classification: false }).kind, 'REGRESSION');
});

test('the scaling of the target is for numbers alone', () => {
  const form = { ...withLearner(emptyForm(), svm), dataset: 'a', targetScaling: 'NONE' };
  assert.equal(toRequest({ ...form, kind: 'CLASSIFICATION' as const }, svm).request.targetScaling, undefined);
  const { request } = toRequest({ ...form, kind: 'REGRESSION' as const }, svm);
  assert.equal(request.targetScaling, 'TARGET_SCALING_NONE');
  assert.equal(fromRequest(request).targetScaling, 'NONE');
});

test('every learner of the server has a form, and its defaults are legal texts', () => {
  assert.ok(learners.length >= 3);
  for (const learner of learners) {
    const options = Object.fromEntries((learner.options ?? []).map((option) => [option.name, option.defaultValue ?? '']));
    const { request, violations } = toRequest({ ...withLearner(emptyForm(), learner), options }, learner);
    assert.deepEqual(violations, [], learner.name);
    const [message] = Object.values(request.learner ?? {});
    assert.equal(Object.keys(message ?? {}).filter((name) => name !== 'kernels').length, learner.options?.length, learner.name);
  }
});

test('how many kernels a family makes', () => {
  assert.equal(kernelCount(newKernel({ bandwidths: '0.5, 1, 2', perColumn: true }), 57), 171);
  assert.equal(kernelCount(newKernel({ rule: 'LOG_SPACED', count: '12' }), 57), 12);
  assert.equal(kernelCount(newKernel({ rule: 'MEDIAN_SPACED', count: '20' }), 57), 20);
  assert.equal(kernelCount(newKernel({ type: 'LINEAR', columns: 'a, b', perColumn: true }), 57), 2);
  assert.equal(kernelCount(newKernel(), 57), 1);
});

test('the server decides what is learned unless the form says it', () => {
  const form = { ...withLearner({ ...emptyForm(), dataset: 'datasets/a' }, svm), targetScaling: 'NONE', coding: 'ONE_VS_ONE' };
  const open = toRequest(form, svm).request;
  assert.equal('targetKind' in open, false);
  assert.deepEqual([open.targetScaling, open.coding], ['TARGET_SCALING_NONE', 'CODING_CHOICE_ONE_VS_ONE']);
  assert.equal(fromRequest(open).kind, '');
  const numbers = toRequest({ ...form, kind: 'REGRESSION' }, svm).request;
  assert.deepEqual([numbers.targetKind, numbers.coding], ['TARGET_KIND_REGRESSION', undefined]);
  assert.equal(fromRequest(numbers).kind, 'REGRESSION');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { activeGroups, activeKernels, columnImportance, featureBars, filterValue, groupingsOf, kernelLabel, parseFilter, parseKernelName, weightBars } from '../src/lib/weights.ts';

const WEIGHTS = {
  kernels: ['gaussian(bandwidth=2)', 'gaussian(bandwidth=0.5, columns=age)', 'linear(columns=age)', 'linear(columns=sex)'],
  weights: { rows: '4', columns: '2', values: [0.5, 0, 0.25, 1, 0.125, 2, 0, 4] },
};

test('names of kernels', () => {
  assert.deepEqual(parseKernelName('linear'), { family: 'linear', columns: '', block: '', parameters: '' });
  assert.deepEqual(parseKernelName('polynomial(degree=2, scale=1, offset=0.5, block=x, columns=a+b, unit_diagonal, scaling=trace)'), {
    family: 'polynomial',
    columns: 'a+b',
    block: 'x',
    parameters: 'degree 2, scale 1, offset 0.5',
  });
  assert.equal(parseKernelName('gaussian(bandwidth=1, columns=size (m), block=2)').columns, 'size (m), block=2');
  assert.equal(kernelLabel('gaussian(bandwidth=2) (3)'), 'all columns · gaussian · width 2, (3)');
  assert.equal(kernelLabel('linear (2)'), 'all columns · linear · (2)');
  assert.equal(kernelLabel('hue (2)'), 'hue (2)');
  assert.equal(kernelLabel('gaussian(bandwidth=2.8541829944836365)'), 'all columns · gaussian · width 2.854');
  assert.equal(kernelLabel('chi_square(bandwidth=1, block=words)'), 'block words · chi square · width 1');
});

test('bars of one output, per kernel, column and family', () => {
  assert.deepEqual(weightBars(WEIGHTS, 0, 'kernel').map((bar) => bar.value), [0.5, 0.25, 0.125, 0]);
  assert.deepEqual(weightBars(WEIGHTS, 1, 'column').map(({ label, value, count }) => [label, value, count]), [
    ['sex', 4, 1],
    ['age', 3, 2],
    ['all columns together', 0, 1],
  ]);
  assert.deepEqual(weightBars(WEIGHTS, 1, 'family').map(({ label, value }) => [label, value]), [['linear', 6], ['gaussian', 1]]);
  assert.deepEqual(weightBars(undefined, 0, 'kernel'), []);
});

test('kernels with names and groups of their own', () => {
  const weights = {
    kernels: ['hue', 'shape(bandwidth=0.5, columns=age)', 'linear(columns=age)'],
    groups: ['colour', 'shape', ''],
    weights: { rows: '3', columns: '1', values: [1, 2, 4] },
  };
  assert.deepEqual(groupingsOf(weights), ['group', 'kernel', 'column', 'family']);
  assert.deepEqual(groupingsOf(WEIGHTS), ['kernel', 'column', 'family']);
  assert.deepEqual(weightBars(weights, 0, 'kernel').map(({ label }) => label), ['age · linear', 'shape(bandwidth=0.5, columns=age)', 'hue']);
  assert.deepEqual(weightBars(weights, 0, 'group').map(({ label, value }) => [label, value]), [['without group', 4], ['shape', 2], ['colour', 1]]);
  assert.deepEqual(weightBars(weights, 0, 'column').map(({ label, value }) => [label, value]), [['age', 6], ['hue', 1]]);
});

test('columns over all outputs', () => {
  assert.equal(columnImportance(WEIGHTS).get('age'), 3.375);
});

test('chosen features are bars of one output, largest first', () => {
  const weights = { features: ['feature 1: fourier(bandwidth=2)', "feature 2: column 'x1'"], weights: { rows: '2', columns: '2', values: [1, 0, 3, 2] } };
  assert.deepEqual(featureBars(weights, 0).map(({ label, value }) => [label, value]), [["feature 2: column 'x1'", 3], ['feature 1: fourier(bandwidth=2)', 1]]);
  assert.deepEqual(featureBars(weights, 1).map(({ value }) => value), [2, 0]);
  assert.deepEqual(featureBars(undefined, 0), []);
});

test('Gabor filters are read from their names', () => {
  const filter = parseFilter('feature 3: gabor(sigma_z=1000, sigma_y=1000, frequency=0.125, angle=0)');
  assert.deepEqual(filter, { scaleZ: 1000, scaleY: 1000, frequency: 0.125, angle: 0 });
  assert.ok(Math.abs(filterValue(filter!, 0, 5) - 1) < 1e-3);
  assert.ok(Math.abs(filterValue(filter!, 4, 0) + 1) < 1e-3);
  assert.ok(Math.abs(filterValue({ ...filter!, angle: Math.PI / 2 }, 4, 0) - 1) < 1e-3);
  assert.equal(parseFilter('feature 1: fourier(bandwidth=2)'), undefined);
});

test('a kernel is active with a weight for any output', () => {
  assert.equal(activeKernels({ kernels: ['a', 'b', 'c'], weights: { columns: '2', values: [0, 0.5, 0, 0, 1, 0] } }), 2);
  assert.equal(activeKernels(undefined), undefined);
  const weights = { columns: '2', values: [0, 0.5, 0, 0, 1, 0] };
  assert.equal(activeGroups({ kernels: ['a', 'b', 'c'], groups: ['hue', 'shape', 'hue'], weights }), 1);
  assert.equal(activeGroups({ kernels: ['a', 'b', 'c'], weights }), 0);
});

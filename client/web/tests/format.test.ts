import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAgo, formatBytes, formatPercent, formatReal, formatSeconds, metricWords, ownerWords, wordsOf } from '../src/lib/format.ts';
import { durationFromText, parseDuration, parseReal, realFromText, realsFromText, textFromReal } from '../src/lib/numbers.ts';

test('real numbers', () => {
  const shown = [0, 1, 1175.6028, 0.03891, 9.9e-5, -0.5, 123456.7, 1.5e9, 'Infinity', '-Infinity', 'NaN', undefined, null, 1e-4].map((value) => formatReal(value));
  assert.deepEqual(shown, ['0', '1', '1176', '0.03891', '9.9e-5', '−0.5', '123,457', '1.5e9', '∞', '−∞', '–', '–', '–', '1e-4']);
  assert.equal(formatReal(1175.6028, 6), '1175.6');
});

test('owners, where there are any', () => {
  assert.deepEqual(['ann', 'anyone', '', undefined].map(ownerWords), ['of ann', '', '', '']);
});

test('durations', () => {
  const shown = [0.0005, 0.05, 1.5, 9.94, 12.3, 59.4, 61, 599, 600, 3599, 5400, 200_000, undefined].map((seconds) => formatSeconds(seconds));
  assert.deepEqual(shown, ['1 ms', '50 ms', '1.5 s', '9.9 s', '12 s', '59 s', '1 min 01 s', '9 min 59 s', '10 min', '1 h 00 min', '1 h 30 min', '2 d 7 h', '–']);
  assert.deepEqual([0.3, 0.35, 0.4].map((seconds) => formatSeconds(seconds, 0.05)), ['0.30 s', '0.35 s', '0.40 s'], 'which stand at an axis differ');
  assert.deepEqual([10, 10.5, 11].map((seconds) => formatSeconds(seconds, 0.5)), ['10.0 s', '10.5 s', '11.0 s']);
  assert.equal(parseDuration('1.5s'), 1.5);
  assert.equal(parseDuration(undefined), undefined);
  assert.equal(parseDuration('five'), undefined);
});

test('what people write for durations', () => {
  assert.deepEqual(['90', '1.5 h', '10min', '2d', '0.1', 'soon', '-5', ''].map(durationFromText), ['90s', '5400s', '600s', '172800s', '0.1s', undefined, undefined, undefined]);
});

test('what people write for numbers', () => {
  assert.deepEqual(['1', ' 1e-3 ', '.5', 'inf', '-Infinity', '0x10', '1,5', 'abc', ''].map(realFromText), [1, 0.001, 0.5, 'Infinity', '-Infinity', undefined, undefined, undefined, undefined]);
  assert.deepEqual(realsFromText('0.5, 1 2;4'), [0.5, 1, 2, 4]);
  assert.deepEqual([realsFromText('[0.5, 1]'), realsFromText(' [] ')], [[0.5, 1], []]);
  for (const wrong of ['0.5, x', '[0.5', '[[1]]']) assert.equal(realsFromText(wrong), undefined, wrong);
  assert.deepEqual([1.5, 'Infinity', undefined].map(textFromReal), ['1.5', 'inf', '']);
  assert.deepEqual([1, '2.5', 'Infinity', 'NaN', undefined].map(parseReal), [1, 2.5, null, null, null]);
});

test('bytes, shares, ages and words', () => {
  assert.deepEqual([0, 999, 2136960, 442110632, 2 ** 34].map(formatBytes), ['0 B', '999 B', '2 MiB', '422 MiB', '16 GiB']);
  assert.equal(formatPercent(0.94261), '94.3 %');
  const now = Date.parse('2026-01-10T00:00:00Z');
  assert.deepEqual(
    ['2026-01-09T23:59:55Z', '2026-01-09T23:59:15Z', '2026-01-09T23:00:00Z', '2026-01-08T00:00:00Z'].map((time) => formatAgo(time, now)),
    ['just now', '45 s ago', '1 h ago', '2 d ago'],
  );
  assert.equal(wordsOf('SCALING_MIN_MAX', 'SCALING_'), 'min max');
  assert.equal(metricWords('held_out.balanced_accuracy'), 'balanced accuracy');
  assert.equal(metricWords('folds.auc'), 'AUC');
  assert.equal(metricWords('low_rank.joint_rank'), 'low rank: joint rank');
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import type { LearnerDescription } from '../src/api/types.ts';
import { pathText, standardText } from '../src/form/option_texts.ts';
import { emptyForm, withLearner } from '../src/form/train_form.ts';

const { learners } = JSON.parse(readFileSync('tests/fixtures/learners.json', 'utf8')) as { learners: LearnerDescription[] };
const features = learners.find((learner) => learner.name === 'infinite_features')!;
const option = (name: string) => features.options!.find((each) => each.name === name)!;
const form = withLearner(emptyForm(), features);
const BEST = 'default: the best of 5';

test('an option of a default path says the path, until something takes its place', () => {
  const lambda = option('lambda');
  assert.equal(standardText(lambda, features, form), BEST);
  for (const name of ['lambda_shared', 'lambda_unit']) {
    assert.equal(standardText(lambda, features, { ...form, options: { [name]: '1' } }), 'default: 0.003', name);
    assert.equal(standardText(lambda, features, { ...form, options: { [name]: '' } }), BEST, name);
  }
  assert.equal(standardText(lambda, features, { ...form, options: { loss: 'hinge' } }), BEST);
  const path = { ...form, pathOption: 'lambda', pathValues: '0.2, 0.1' };
  assert.equal(standardText(lambda, features, path), 'default: 0.003');
  assert.equal(standardText(lambda, features, { ...path, validation: 'none' as const }), BEST);
});

test('an option that prevents the default path of another says so', () => {
  const preventing = features.options!.filter((each) => pathText(each, features, form) !== '').map((each) => each.name);
  assert.deepEqual(preventing, ['lambda', 'lambda_shared', 'lambda_unit']);
  assert.equal(pathText(option('lambda_unit'), features, form), 'When this is set and lambda is not, lambda is 0.003; no path chooses it.');
  assert.equal(pathText(option('lambda'), features, form), 'While it is empty: the best of 0.3, 0.1, 0.03, 0.01, 0.003; of few rows 0.003.');
  assert.equal(pathText(option('lambda'), features, { ...form, options: { lambda: '0.1' } }), '');
});

test('other defaults are what they are', () => {
  assert.equal(standardText(option('group_weights'), features, form), 'default: none');
  for (const learner of learners) {
    for (const each of learner.options ?? []) {
      if (each.defaultPath?.length || each.defaultValue === '[]') continue;
      assert.equal(standardText(each, learner, withLearner(emptyForm(), learner)), each.defaultValue ? `default: ${each.defaultValue}` : 'default');
      if (learner !== features) assert.equal(pathText(each, learner, withLearner(emptyForm(), learner)), '', `${learner.name}.${each.name}`);
    }
  }
});

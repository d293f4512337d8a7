import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf, changeWords, draftOf, givenLabels, labelsOf, withGivenLabels, wordsOfDraft } from '../src/lib/words.ts';

test('a draft that nobody has touched changes nothing', () => {
  const words = { displayName: 'Spam', labels: { team: 'red', a: '' }, etag: '1-2' };
  const draft = draftOf(words);
  assert.deepEqual(draft, { displayName: 'Spam', description: '', rows: [{ key: 'a', value: '' }, { key: 'team', value: 'red' }] });
  assert.deepEqual(changesOf(words, wordsOfDraft(draft)), {});
  assert.deepEqual(changesOf({}, wordsOfDraft(draftOf({}))), {});
});

test('only what differs is changed', () => {
  const words = { displayName: 'Spam', description: 'old', labels: { team: 'red' } };
  assert.deepEqual(changesOf(words, { ...words, description: '' }), { description: '' });
  assert.deepEqual(changesOf(words, { ...words, labels: {} }), { labels: {} });
  assert.deepEqual(changesOf(words, { displayName: 'Spam', description: 'old' }), { labels: {} });
});

test('labels are read from their rows', () => {
  assert.deepEqual(labelsOf([{ key: ' team ', value: ' red ' }, { key: '', value: '' }, { key: 'a', value: '' }]), { team: 'red', a: '' });
  assert.throws(() => labelsOf([{ key: 'a', value: '1' }, { key: 'a', value: '2' }]), /Two labels have the key a/);
  assert.throws(() => labelsOf([{ key: '', value: '2' }]), /value 2 has no key/);
});

test('what somebody else has changed is told in words', () => {
  assert.equal(changeWords({ displayName: 'Junk', description: '', labels: { b: '2', a: '1' } }), 'the name is now “Junk”, there is no description any more, the labels are now a=1, b=2');
  assert.equal(changeWords({ labels: {} }), 'there are no labels any more');
});

test('the label of the content is neither edited nor lost', () => {
  const labels = { content: 'abc', team: 'red' };
  assert.deepEqual(givenLabels(labels), { team: 'red' });
  assert.deepEqual(withGivenLabels(labels, { stage: 'test' }), { content: 'abc', stage: 'test' });
  assert.deepEqual(withGivenLabels({}, { stage: 'test' }), { stage: 'test' });
  assert.throws(() => withGivenLabels({}, { content: 'mine' }), /take another key/);
});

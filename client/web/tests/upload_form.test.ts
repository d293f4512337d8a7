import assert from 'node:assert/strict';
import { test } from 'node:test';
import { roleOf } from '../src/form/upload_form.ts';

test('a column called like a member of every object is a feature until it is given a role', () => {
  assert.equal(roleOf({}, 'constructor'), 'feature');
  assert.equal(roleOf({ constructor: 'target' } as never, 'constructor'), 'target');
  assert.equal(roleOf({ y: 'target' }, 'y'), 'target');
});

// What pages say of errors of the service.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorOfStatus, messageOf } from '../src/api/error.ts';

function badCell(metadata: Record<string, string>) {
  const info = { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'BAD_CELL', metadata };
  return errorOfStatus({ code: 3, message: "row 1, column 'b': the value is missing", details: [info] });
}

test('a field that would have helped is called as the pages call it', () => {
  const words = messageOf(badCell({ row: '1', remedy: 'csv.allow_missing' }));
  assert.match(words, /^row 1, column 'b': the value is missing\. Upload it with “cells may be missing”/);
  assert.doesNotMatch(words, /allow_missing/);
});

test('fields that the pages do not have are not named', () => {
  assert.equal(messageOf(badCell({ remedy: 'csv.other' })), "row 1, column 'b': the value is missing");
  assert.equal(messageOf(badCell({})), "row 1, column 'b': the value is missing");
});

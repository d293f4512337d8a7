// How the calls of the pages are made.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { getVersion, listDatasets, removeAlias, setAlias } from '../src/api/calls.ts';
import { Client } from '../src/api/client.ts';
import { Token } from '../src/api/token.ts';

/** A client whose requests `answer` answers; and what it has asked for. */
function fake(answer: (url: URL) => object): { client: Client; asked: string[] } {
  const asked: string[] = [];
  globalThis.fetch = (input, init) => {
    asked.push([init?.method, String(input), init?.body].filter(Boolean).join(' '));
    return Promise.resolve(new Response(JSON.stringify(answer(new URL(String(input), 'http://localhost')))));
  };
  return { client: new Client(new Token({ getItem: () => null, setItem: () => {}, removeItem: () => {} })), asked };
}

test('a list is read to its end', async () => {
  const { client, asked } = fake((url) => {
    const page = Number(url.searchParams.get('pageToken') ?? 0);
    return { datasets: [{ name: `datasets/${page}` }], ...(page < 39 ? { nextPageToken: String(page + 1) } : {}) };
  });
  const found = await listDatasets(client);
  assert.deepEqual(found.map((each) => each.name), [...Array(40).keys()].map((page) => `datasets/${page}`));
  assert.deepEqual(asked.slice(0, 2), ['GET /v1/datasets?pageSize=200', 'GET /v1/datasets?pageSize=200&pageToken=1']);
});

test('a request is the query where the verb has no body', async () => {
  const { client, asked } = fake(() => ({}));
  await setAlias(client, 'models/a', 'live', 'models/a/versions/1', 'none');
  await removeAlias(client, 'models/a', 'live', 'W1');
  await getVersion(client, 'models/a');
  await getVersion(client, 'models/a/versions/2');
  assert.deepEqual(asked, [
    'PUT /v1/models/a/aliases/live {"version":"models/a/versions/1","etag":"none"}',
    'DELETE /v1/models/a/aliases/live?etag=W1',
    'GET /v1/models/a:version',
    'GET /v1/models/a/versions/2',
  ]);
});

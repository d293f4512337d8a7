// The calls that the pages make, by name.
import { type Client, withQuery } from './client.ts';
import type { Dataset, UploadHeader } from './dataset_types.ts';
import type { Alias, AliasChange, Evaluation, Model, ModelVersion, Prediction, TaskChoice, TypedColumn, Verification } from './model_types.ts';
import type { CostEstimate, Job, LearnerDescription, ServerInfo, TrainRequest, Words } from './types.ts';

const PAGE_SIZE = 200;
const MAX_PAGES = 25;

/** All pages of a list, up to MAX_PAGES of them. */
async function all<T>(
  client: Client,
  path: string,
  query: Record<string, string | undefined>,
  member: string,
  signal?: AbortSignal,
): Promise<T[]> {
  const found: T[] = [];
  let pageToken: string | undefined;
  for (let page = 0; page < MAX_PAGES; ++page) {
    const answer = await client.get<Record<string, unknown>>(path, { ...query, pageSize: PAGE_SIZE, pageToken }, signal);
    found.push(...((answer[member] as T[] | undefined) ?? []));
    pageToken = answer['nextPageToken'] as string | undefined;
    if (!pageToken) break;
  }
  return found;
}

export const getServer = (client: Client, signal?: AbortSignal) => client.get<ServerInfo>('/v1/server', {}, signal);

export const listLearners = async (client: Client, signal?: AbortSignal) =>
  (await client.get<{ learners?: LearnerDescription[] }>('/v1/learners', {}, signal)).learners ?? [];

export const getJob = (client: Client, name: string, signal?: AbortSignal) => client.get<Job>(`/v1/${name}`, {}, signal);
export const train = (client: Client, request: TrainRequest) => client.send<Job>('POST', '/v1/jobs', request);
export const cancelJob = (client: Client, name: string) => client.send<Job>('POST', `/v1/${name}:cancel`);
export const stopJob = (client: Client, name: string) => client.send<Job>('POST', `/v1/${name}:stop`);
export const deleteJob = (client: Client, name: string) => client.send<object>('DELETE', `/v1/${name}`);
export const estimateCost = (client: Client, training: TrainRequest, signal?: AbortSignal) =>
  client.send<CostEstimate>('POST', '/v1/jobs:estimate', { training }, signal);

export const listDatasets = (client: Client, signal?: AbortSignal) => all<Dataset>(client, '/v1/datasets', {}, 'datasets', signal);
export const getDataset = (client: Client, name: string, signal?: AbortSignal) =>
  client.get<Dataset>(`/v1/${name}`, { view: 'DATASET_VIEW_FULL' }, signal);
export const deleteDataset = (client: Client, name: string) => client.send<object>('DELETE', `/v1/${name}`);
export const uploadDataset = (
  client: Client,
  header: UploadHeader,
  file: Blob,
  onProgress: (sentBytes: number) => void,
  signal: AbortSignal,
) => client.upload<Dataset>(withQuery('/v1/datasets:upload', { header: JSON.stringify(header) }), file, onProgress, signal);

/** Changes labels, and of models and versions the other words that `changes` has; the server refuses when they have another etag. */
const update = <T>(client: Client, kind: string, name: string, changes: Words) =>
  client.send<T>('PATCH', `/v1/${name}`, { [kind]: changes, updateMask: Object.keys(changes).filter((field) => field !== 'etag').join() });
export const updateJob = (client: Client, name: string, changes: Words) => update<Job>(client, 'job', name, changes);
export const updateDataset = (client: Client, name: string, changes: Words) => update<Dataset>(client, 'dataset', name, changes);
export const updateModel = (client: Client, name: string, changes: Words) => update<Model>(client, 'model', name, changes);
export const updateVersion = (client: Client, name: string, changes: Words) => update<ModelVersion>(client, 'modelVersion', name, changes);

export const getModel = (client: Client, name: string, signal?: AbortSignal) => client.get<Model>(`/v1/${name}`, {}, signal);
/** The newest version of every model. */
export const listModels = async (client: Client, signal?: AbortSignal) =>
  (await all<Model & { newestVersion: ModelVersion }>(client, '/v1/models', {}, 'models', signal)).map(
    ({ newestVersion, ...about }): ModelVersion => ({ ...newestVersion, about }),
  );
export const listVersions = (client: Client, model: string, signal?: AbortSignal) =>
  all<ModelVersion>(client, `/v1/${model}/versions`, {}, 'versions', signal);
/** "models/spam/versions/2", or "models/spam": its newest version. */
const versionPath = (name: string) => (name.includes('/versions/') ? `/v1/${name}` : `/v1/${name}:version`);
export const getVersion = (client: Client, name: string, signal?: AbortSignal) => client.get<ModelVersion>(versionPath(name), {}, signal);
export const getFullVersion = (client: Client, name: string, signal?: AbortSignal) =>
  client.get<ModelVersion>(versionPath(name), { view: 'MODEL_VERSION_VIEW_FULL' }, signal);
/** "models/spam/versions/2": that version; "models/spam": all of them. */
export const deleteModel = (client: Client, name: string) => client.send<object>('DELETE', `/v1/${name}`);
/** `task`: that of all rows, of models of several tasks; empty: the data set says it. */
export const evaluateModel = (client: Client, name: string, dataset: string, tasks: TaskChoice = {}) =>
  client.send<Evaluation>('POST', `/v1/${name}:evaluate`, { dataset, ...tasks });
/** A job that makes a new data set. */
export const predictDataset = (client: Client, name: string, dataset: string, tasks: TaskChoice = {}) =>
  client.send<Job>('POST', `/v1/${name}:predictDataset`, { dataset, ...tasks });
export const verifyModel = (client: Client, name: string) => client.send<Verification>('POST', `/v1/${name}:verify`);
export const exportModel = (client: Client, name: string) => client.download(`/v1/${name}:export`);
export const predict = (client: Client, name: string, columns: TypedColumn[], tasks: TaskChoice = {}) =>
  client.send<Prediction>('POST', `/v1/${name}:predict`, { rows: { columns }, contributions: true, ...tasks });

/** `etag`: the one that the alias is known to have, "none" for a new one; the server refuses when somebody else has moved it. */
export const setAlias = (client: Client, model: string, alias: string, version: string, etag: string) =>
  client.send<Alias>('PUT', `/v1/${model}/aliases/${encodeURIComponent(alias)}`, { version, etag });
export const removeAlias = (client: Client, model: string, alias: string, etag: string) =>
  client.send<Alias>('DELETE', withQuery(`/v1/${model}/aliases/${encodeURIComponent(alias)}`, { etag }));
/** Points it to the version before its last change. */
export const rollbackAlias = (client: Client, model: string, alias: string, etag: string) =>
  client.send<Alias>('POST', `/v1/${model}/aliases/${encodeURIComponent(alias)}:rollback`, { etag });
export const listAliasHistory = (client: Client, model: string, alias: string, signal?: AbortSignal) =>
  all<AliasChange>(client, `/v1/${model}/aliases/${encodeURIComponent(alias)}/history`, {}, 'changes', signal);
export const listAliases = (client: Client, model: string, signal?: AbortSignal) =>
  all<Alias>(client, `/v1/${model}/aliases`, {}, 'aliases', signal);

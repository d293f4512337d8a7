// The calls that the pages make, by name.
import type { Client, Query } from './client.ts';
import type { Dataset, UploadHeader } from './dataset_types.ts';
import type { Alias, AliasChange, Evaluation, Model, ModelVersion, Prediction, TaskChoice, TypedColumn, Verification } from './model_types.ts';
import * as routes from './routes.ts';
import type { CostEstimate, Job, LearnerDescription, ServerInfo, TrainRequest, Words } from './types.ts';

const PAGE_SIZE = 200;

/** All pages of a list. */
async function all<T>(client: Client, route: routes.Route, member: string, signal?: AbortSignal): Promise<T[]> {
  const found: T[] = [];
  const query: Query = { pageSize: PAGE_SIZE };
  do {
    const answer = await client.call<Record<string, unknown>>(route, query, signal);
    for (const each of (answer[member] as T[] | undefined) ?? []) found.push(each);
    query['pageToken'] = answer['nextPageToken'] as string | undefined;
  } while (query['pageToken']);
  return found;
}

export const getServer = (client: Client, signal?: AbortSignal) => client.call<ServerInfo>(routes.getServerInfo(), {}, signal);

export const listLearners = async (client: Client, signal?: AbortSignal) =>
  (await client.call<{ learners?: LearnerDescription[] }>(routes.listLearners(), {}, signal)).learners ?? [];

export const getJob = (client: Client, name: string, signal?: AbortSignal) => client.call<Job>(routes.getJob(name), {}, signal);
export const train = (client: Client, request: TrainRequest) => client.call<Job>(routes.train(), request);
export const cancelJob = (client: Client, name: string) => client.call<Job>(routes.cancelJob(name));
export const stopJob = (client: Client, name: string) => client.call<Job>(routes.stopJob(name));
export const deleteJob = (client: Client, name: string) => client.call<object>(routes.deleteJob(name));
export const estimateCost = (client: Client, training: TrainRequest, signal?: AbortSignal) =>
  client.call<CostEstimate>(routes.estimateCost(), { training }, signal);

export const listDatasets = (client: Client, signal?: AbortSignal) => all<Dataset>(client, routes.listDatasets(), 'datasets', signal);
export const getDataset = (client: Client, name: string, signal?: AbortSignal) =>
  client.call<Dataset>(routes.getDataset(name), { view: 'DATASET_VIEW_FULL' }, signal);
export const deleteDataset = (client: Client, name: string) => client.call<object>(routes.deleteDataset(name));
export const uploadDataset = (
  client: Client,
  header: UploadHeader,
  file: Blob,
  onProgress: (sentBytes: number) => void,
  signal: AbortSignal,
) => client.upload<Dataset>(routes.uploadDataset(), { header: JSON.stringify(header) }, file, onProgress, signal);

/** Changes the words that `changes` has; the server refuses when they have another etag. */
const update = <T>(client: Client, route: routes.Route, kind: string, changes: Words) =>
  client.call<T>(route, { [kind]: changes, updateMask: Object.keys(changes).filter((field) => field !== 'etag').join() });
export const updateJob = (client: Client, name: string, changes: Words) => update<Job>(client, routes.updateJob(name), 'job', changes);
export const updateDataset = (client: Client, name: string, changes: Words) =>
  update<Dataset>(client, routes.updateDataset(name), 'dataset', changes);
export const updateModel = (client: Client, name: string, changes: Words) => update<Model>(client, routes.updateModel(name), 'model', changes);
export const updateVersion = (client: Client, name: string, changes: Words) =>
  update<ModelVersion>(client, routes.updateModelVersion(name), 'modelVersion', changes);

export const getModel = (client: Client, name: string, signal?: AbortSignal) => client.call<Model>(routes.getModel(name), {}, signal);
/** The newest version of every model. */
export const listModels = async (client: Client, signal?: AbortSignal) =>
  (await all<Model & { newestVersion: ModelVersion }>(client, routes.listModels(), 'models', signal)).map(
    ({ newestVersion, ...about }): ModelVersion => ({ ...newestVersion, about }),
  );
export const listVersions = (client: Client, model: string, signal?: AbortSignal) =>
  all<ModelVersion>(client, routes.listModelVersions(model), 'versions', signal);
/** "models/spam/versions/2", or "models/spam": its newest version. */
const isVersion = (name: string) => name.includes('/versions/');
const versionRoute = (name: string) => (isVersion(name) ? routes.getModelVersion(name) : routes.getModelVersionModel(name));
export const getVersion = (client: Client, name: string, signal?: AbortSignal) => client.call<ModelVersion>(versionRoute(name), {}, signal);
export const getFullVersion = (client: Client, name: string, signal?: AbortSignal) =>
  client.call<ModelVersion>(versionRoute(name), { view: 'MODEL_VERSION_VIEW_FULL' }, signal);
/** "models/spam/versions/2": that version; "models/spam": all of them. */
export const deleteModel = (client: Client, name: string) =>
  client.call<object>(isVersion(name) ? routes.deleteModelVersion(name) : routes.deleteModel(name));
/** `task`: that of all rows, of models of several tasks; empty: the data set says it. */
export const evaluateModel = (client: Client, name: string, dataset: string, tasks: TaskChoice = {}) =>
  client.call<Evaluation>(routes.evaluateModel(name), { dataset, ...tasks });
/** A job that makes a new data set. */
export const predictDataset = (client: Client, name: string, dataset: string, tasks: TaskChoice = {}) =>
  client.call<Job>(routes.predictDataset(name), { dataset, ...tasks });
export const verifyModel = (client: Client, name: string) => client.call<Verification>(routes.verifyModel(name));
export const exportModel = (client: Client, name: string) => client.download(routes.exportModel(name));
export const predict = (client: Client, name: string, columns: TypedColumn[], tasks: TaskChoice = {}) =>
  client.call<Prediction>(routes.predict(name), { rows: { columns }, contributions: true, ...tasks });

const aliasName = (model: string, alias: string) => `${model}/aliases/${encodeURIComponent(alias)}`;
/** `etag`: the one that the alias is known to have, "none" for a new one; the server refuses when somebody else has moved it. */
export const setAlias = (client: Client, model: string, alias: string, version: string, etag: string) =>
  client.call<Alias>(routes.setAlias(aliasName(model, alias)), { version, etag });
export const removeAlias = (client: Client, model: string, alias: string, etag: string) =>
  client.call<Alias>(routes.setAliasDelete(aliasName(model, alias)), { etag });
/** Points it to the version before its last change. */
export const rollbackAlias = (client: Client, model: string, alias: string, etag: string) =>
  client.call<Alias>(routes.rollbackAlias(aliasName(model, alias)), { etag });
export const listAliasHistory = (client: Client, model: string, alias: string, signal?: AbortSignal) =>
  all<AliasChange>(client, routes.listAliasHistory(aliasName(model, alias)), 'changes', signal);
export const listAliases = (client: Client, model: string, signal?: AbortSignal) =>
  all<Alias>(client, routes.listAliases(model), 'aliases', signal);

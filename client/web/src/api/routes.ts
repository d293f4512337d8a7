// Made of the options google.api.http of the protos by ./dev docs: how each call is reached. Where the path of a call names a
// resource, its function takes the name of that, "jobs/a".

/** Of verbs without a body the request is the query. */
export interface Route {
  readonly verb: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
}

export const uploadDataset = (): Route => ({ verb: 'POST', path: '/v1/datasets:upload' });
export const getUpload = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const listUploads = (): Route => ({ verb: 'GET', path: '/v1/uploads' });
export const deleteUpload = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const getDataset = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const listDatasets = (): Route => ({ verb: 'GET', path: '/v1/datasets' });
export const updateDataset = (name: string): Route => ({ verb: 'PATCH', path: `/v1/${name}` });
export const deleteDataset = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const getModel = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const listModels = (): Route => ({ verb: 'GET', path: '/v1/models' });
export const updateModel = (name: string): Route => ({ verb: 'PATCH', path: `/v1/${name}` });
export const deleteModel = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const getModelVersion = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const getModelVersionModel = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}:version` });
export const listModelVersions = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}/versions` });
export const updateModelVersion = (name: string): Route => ({ verb: 'PATCH', path: `/v1/${name}` });
export const deleteModelVersion = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const setAlias = (name: string): Route => ({ verb: 'PUT', path: `/v1/${name}` });
export const setAliasDelete = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const getAlias = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const listAliases = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}/aliases` });
export const listAliasHistory = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}/history` });
export const rollbackAlias = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:rollback` });
export const setRetention = (name: string): Route => ({ verb: 'PUT', path: `/v1/${name}/retention` });
export const evaluateModel = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:evaluate` });
export const verifyModel = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:verify` });
export const startEvaluation = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:startEvaluation` });
export const startVerification = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:startVerification` });
export const exportModel = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}:export` });
export const predict = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:predict` });
export const predictDataset = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:predictDataset` });
export const listPredictionStatistics = (): Route => ({ verb: 'GET', path: '/v1/predictionStatistics' });
export const getServerInfo = (): Route => ({ verb: 'GET', path: '/v1/server' });
export const train = (): Route => ({ verb: 'POST', path: '/v1/jobs' });
export const getJob = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}` });
export const listJobs = (): Route => ({ verb: 'GET', path: '/v1/jobs' });
export const watchJobs = (): Route => ({ verb: 'GET', path: '/v1/events' });
export const cancelJob = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:cancel` });
export const stopJob = (name: string): Route => ({ verb: 'POST', path: `/v1/${name}:stop` });
export const updateJob = (name: string): Route => ({ verb: 'PATCH', path: `/v1/${name}` });
export const deleteJob = (name: string): Route => ({ verb: 'DELETE', path: `/v1/${name}` });
export const streamProgress = (name: string): Route => ({ verb: 'GET', path: `/v1/${name}/events` });
export const estimateCost = (): Route => ({ verb: 'POST', path: '/v1/jobs:estimate' });
export const listLearners = (): Route => ({ verb: 'GET', path: '/v1/learners' });

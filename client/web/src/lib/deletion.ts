// What a deletion takes along, and what stands in its way.
import type { Dataset } from '../api/dataset_types.ts';
import type { ModelVersion } from '../api/model_types.ts';
import type { Job } from '../api/types.ts';
import { formatBytes, formatInteger, idOf } from './format.ts';
import { aliasOf, mainMetric, partsOf, versionWords } from './models.ts';

export interface Deletion {
  /** What the server is asked to delete. */
  name: string;
  /** One line per version that goes. */
  going: string[];
  /** The aliases that point to them, as "@production points to version 2": the server refuses as long as there are any. */
  blocking: string[];
  /** Which version the bare name of the model then means; undefined: as before, or none. */
  newest: number | undefined;
  /** Nothing of the model is left. */
  last: boolean;
}

/** Of one version, or with `whole` of all `versions` of its model, newest first. */
export function deletionOf(model: ModelVersion, versions: ModelVersion[], whole: boolean): Deletion {
  const gone = whole ? versions : versions.filter((each) => each.name === model.name);
  const left = versions.filter((each) => !gone.includes(each));
  const versionOf = (each: ModelVersion) => partsOf(each.name).version;
  const newestNow = Math.max(...versions.map(versionOf));
  const newestThen = Math.max(...left.map(versionOf));
  return {
    name: whole ? `models/${partsOf(model.name).model}` : model.name,
    going: gone.map((each) => `version ${versionOf(each)}: ${[mainMetric(each), formatBytes(each.sizeBytes)].filter((part) => part !== '–').join(', ')}`),
    blocking: gone.flatMap((each) => (each.aliases ?? []).map((alias) => `@${aliasOf(alias)} points to version ${versionOf(each)}`)),
    newest: left.length > 0 && newestThen < newestNow ? newestThen : undefined,
    last: left.length === 0,
  };
}

/** The deletions of these models; undefined while the answer is still that for an earlier selection. */
export function deletionsFor(models: ModelVersion[], loaded: Deletion[] | undefined): Deletion[] | undefined {
  const named = (each: { name: string }) => partsOf(each.name).model;
  return loaded?.map(named).join() === models.map(named).join() ? loaded : undefined;
}

export function datasetWords(dataset: Dataset): string {
  return `${formatInteger(dataset.rows)} rows, ${formatInteger(dataset.numColumns)} feature columns, ${formatBytes(dataset.sizeBytes)}`;
}

export function jobDeletionWords(job: Job): string {
  const counts = [
    [Number(job.lastSequence ?? 0), 'event', 'events'],
    [job.attempts?.length ?? 0, 'attempt', 'attempts'],
    [Object.keys(job.labels ?? {}).length, 'label', 'labels'],
  ] as const;
  const results = [job.evaluation ? 'the metrics' : '', job.verification ? 'the recomputed certificate' : ''];
  return ['the request', ...counts.flatMap(([count, one, many]) => (count > 0 ? [`${formatInteger(count)} ${count === 1 ? one : many}`] : [])), ...results].filter(Boolean).join(', ');
}

/** What the deletion of a job leaves. */
export function keptWords(job: Job): string {
  if (job.model) return `Its model ${versionWords(job.model)} and its data stay.`;
  if (job.prediction) return `The data set ${idOf(job.prediction.dataset)} that it made, the model and its data stay.`;
  return job.request ? 'Its data stay.' : 'The model and its data stay.';
}

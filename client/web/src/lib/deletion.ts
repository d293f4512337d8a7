// What a deletion takes along, and what stands in its way.
import type { Dataset } from '../api/dataset_types.ts';
import type { ModelVersion } from '../api/model_types.ts';
import { formatBytes, formatInteger } from './format.ts';
import { aliasOf, mainMetric, partsOf } from './models.ts';

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

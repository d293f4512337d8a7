// Data sets and uploads, as types.ts says.
import type * as schema from './schema.ts';
import type { Named } from './types.ts';

export type { Block, Column, ColumnPlace, CsvFormat, DataQuality, UploadHeader, ValueCount } from './schema.ts';
export type Dataset = Named<schema.Dataset>;

// Data sets and uploads, as types.ts says.
import type { Int64, Labels, Real } from './types.ts';

export interface ValueCount {
  value?: string;
  count?: Int64;
}

export interface Column {
  name?: string;
  role?: string;
  type?: string;
  missing?: Int64;
  statistics?: { min?: Real; max?: Real; mean?: Real; standardDeviation?: Real; constant?: boolean };
  valueCounts?: ValueCount[];
}

export interface Block {
  name?: string;
  sparse?: boolean;
  numColumns?: Int64;
  storedValues?: Int64;
  columns?: Column[];
}

export interface ColumnPlace {
  block?: string;
  position?: Int64;
  name?: string;
}

export interface DataQuality {
  numMissingColumns?: Int64;
  numMissingCells?: Int64;
  missing?: { column?: ColumnPlace; count?: Int64; rows?: Int64[] }[];
  numConstantColumns?: Int64;
  constantColumns?: ColumnPlace[];
  numNearlyConstantColumns?: Int64;
  nearlyConstantColumns?: { column?: ColumnPlace; value?: string; exceptions?: Int64 }[];
  numDuplicateRows?: Int64;
  numConflictingRows?: Int64;
  duplicateRows?: { row?: Int64; equalTo?: Int64; conflicting?: boolean }[];
  numEqualColumns?: Int64;
  equalColumns?: { column?: ColumnPlace; equalTo?: ColumnPlace }[];
  numLeakingColumns?: Int64;
  leakingColumns?: { column?: ColumnPlace; target?: ColumnPlace; equal?: boolean }[];
  numIdentifierColumns?: Int64;
  identifierColumns?: ColumnPlace[];
  numTextColumns?: Int64;
  textColumns?: { column?: ColumnPlace; holds?: string }[];
  smallestScale?: { column?: ColumnPlace; range?: Real };
  largestScale?: { column?: ColumnPlace; range?: Real };
}

export interface Dataset {
  name: string;
  displayName?: string;
  createTime?: string;
  labels?: Labels;
  rows?: Int64;
  sizeBytes?: Int64;
  digest?: string;
  numColumns?: Int64;
  blocks?: Block[];
  squares?: { name?: string; kind?: string; columns?: Int64 }[];
  roleColumns?: Column[];
  quality?: DataQuality;
  owner?: string;
}

export interface CsvFormat {
  delimiter?: string;
  noHeader?: boolean;
  roles?: Record<string, string>;
  categorical?: string[];
  allowMissing?: boolean;
}

export interface UploadHeader {
  datasetId?: string;
  displayName?: string;
  parts: { csv?: CsvFormat; svmlight?: { targetName?: string } }[];
  totalBytes?: Int64;
}

// Models and predictions, as types.ts says.
import type { Int64, Labels, Real, TrainRequest } from './types.ts';

export interface Matrix {
  rows?: Int64;
  columns?: Int64;
  values?: Real[];
}

export interface Certificate {
  kind?: string;
  scope?: string;
  primal?: Real;
  dual?: Real;
  gap?: Real;
  accuracy?: Real;
  worstAccuracy?: Real;
  outputs?: { primal?: Real; dual?: Real }[];
}

export interface Metric {
  name?: string;
  value?: Real;
}

export interface OptionSetting {
  name?: string;
  boolValue?: boolean;
  integerValue?: Int64;
  realValue?: Real;
  textValue?: string;
  realsValue?: { values?: Real[] };
}

export interface ColumnTransform {
  name?: string;
  categorical?: boolean;
  categories?: string[];
  fill?: Real;
  offset?: Real;
  factor?: Real;
}

export interface KernelWeights {
  kernels?: string[];
  weights?: Matrix;
}

export interface FeatureWeights {
  features?: string[];
  weights?: Matrix;
}

export interface Model {
  name: string;
  createTime?: string;
  labels?: Labels;
  description?: string;
  etag?: string;
  learner?: string;
  options?: OptionSetting[];
  target?: string;
  tasks?: { column?: string; names?: string[] };
  coding?: { kind?: string; classes?: string[]; outputNames?: string[] };
  certificate?: Certificate;
  stopReason?: string;
  metrics?: Metric[];
  kernelWeights?: KernelWeights;
  featureWeights?: FeatureWeights;
  numSupportVectors?: Int64;
  numTrainingRows?: Int64;
  sizeBytes?: Int64;
  digest?: string;
  lineage?: { job?: string; request?: TrainRequest; dataDigests?: string[]; seed?: Int64; codeVersion?: string };
  preprocessing?: { blocks?: { name?: string; columns?: ColumnTransform[] }[] };
  aliases?: string[];
}

export interface Alias {
  name: string;
  version?: string;
  etag?: string;
  updateTime?: string;
}

export interface AliasChange {
  sequence?: Int64;
  time?: string;
  caller?: string;
  from?: string;
  to?: string;
  rollback?: boolean;
}

export interface Evaluation {
  model?: string;
  metrics?: Metric[];
  rows?: Int64;
  skippedRows?: Int64;
  unknownLabelRows?: Int64;
  weightColumn?: string;
}

export interface Verification {
  model?: string;
  certificate?: Certificate;
  matches?: boolean;
  storedCertificate?: Certificate;
}

export interface TypedColumn {
  name: string;
  numbers?: { values: Real[] };
  texts?: { values: string[] };
}

export interface Prediction {
  model?: string;
  outputs?: string[];
  decisionValues?: Matrix;
  labels?: string[];
  contributions?: { name?: string; values?: Matrix }[];
}

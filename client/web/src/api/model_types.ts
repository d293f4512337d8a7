// Models and predictions, as types.ts says.
import type { Int64, Labels, Real, TrainRequest, Warning } from './types.ts';

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
  /** Of each kernel; absent: all are in one. */
  groups?: string[];
}

export interface FeatureWeights {
  features?: string[];
  weights?: Matrix;
}

/** What a learner tells beside the function. */
export interface ModelTable {
  name?: string;
  title?: string;
  rowAxis?: string;
  columnAxis?: string;
  rows?: string[];
  columns?: string[];
  /** Rows x columns. */
  values?: Matrix;
  unit?: string;
  drawing?: string;
  /** Of each row; absent: they are in none. */
  rowGroups?: string[];
}

export interface ClassCurve {
  label?: string;
  positives?: Int64;
  negatives?: Int64;
  thresholds?: Real[];
  truePositiveRates?: Real[];
  falsePositiveRates?: Real[];
  precisions?: Real[];
  areaUnderRoc?: Real;
  averagePrecision?: Real;
}

export interface HeldOut {
  rows?: Int64;
  folds?: Int64;
  sampledRows?: Int64;
  confusion?: { classes?: string[]; counts?: Int64[] };
  curves?: ClassCurve[];
  residuals?: { predicted?: Real[]; actual?: Real[]; bounds?: Real[]; counts?: Int64[] };
  spreads?: { name?: string; standardDeviation?: Real; folds?: Int64 }[];
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
  warnings?: Warning[];
  kernelWeights?: KernelWeights;
  featureWeights?: FeatureWeights;
  numSupportVectors?: Int64;
  numTrainingRows?: Int64;
  sizeBytes?: Int64;
  digest?: string;
  lineage?: { job?: string; request?: TrainRequest; dataDigests?: string[]; seed?: Int64; codeVersion?: string };
  preprocessing?: { blocks?: { name?: string; columns?: ColumnTransform[] }[] };
  aliases?: string[];
  owner?: string;
  /** Of one model alone; lists leave it out. */
  heldOut?: HeldOut;
  /** The same. */
  tables?: ModelTable[];
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

/** Models of several tasks: by which of their outputs rows are predicted. */
export interface TaskChoice {
  /** Of all rows; absent: a column says it. */
  task?: string;
  taskRule?: 'TASK_RULE_MEAN_IF_UNKNOWN' | 'TASK_RULE_MEAN';
}

export interface Evaluation {
  model?: string;
  metrics?: Metric[];
  rows?: Int64;
  skippedRows?: Int64;
  unknownLabelRows?: Int64;
  rowsByMean?: Int64;
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

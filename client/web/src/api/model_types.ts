// Models and predictions, as types.ts says.
import type * as schema from './schema.ts';
import type { Named, TrainRequest, Words } from './types.ts';

export type {
  AliasChange,
  Certificate,
  ClassCurve,
  ColumnTransform,
  FeatureWeights,
  HeldOut,
  KernelWeights,
  Matrix,
  Metric,
  ModelTable,
  OptionSetting,
  TypedColumn,
} from './schema.ts';
export type Evaluation = schema.EvaluateModelResponse;
export type Verification = schema.VerifyModelResponse;
export type Prediction = schema.PredictResponse;
export type Alias = Named<schema.Alias>;
export type Model = Named<schema.Model>;
export type ModelVersion = Named<Omit<schema.ModelVersion, 'lineage'>> & {
  /** Of its model as a whole; lists of models have it. */
  about?: Words;
  lineage?: Omit<schema.Lineage, 'request'> & { request?: TrainRequest };
};

/** Models of several tasks: by which of their outputs rows are predicted. The task is that of all rows; absent: a column says it. */
export type TaskChoice = Pick<schema.EvaluateModelRequest, 'task' | 'taskRule'>;

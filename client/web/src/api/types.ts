// Messages of proto/mercer/v1 as the gateway writes them: protobuf's JSON mapping. Zero values are absent, 64-bit integers are
// strings, infinite numbers are the strings "Infinity" and "-Infinity", times are RFC 3339, durations "1.5s".

export type Int64 = string | number;
export type Real = number | string;
export type Labels = Record<string, string>;

export interface Status {
  code?: number;
  message?: string;
  details?: StatusDetail[];
}

export interface FieldViolation {
  field?: string;
  description?: string;
}

export interface StatusDetail {
  '@type': string;
  reason?: string;
  metadata?: Record<string, string>;
  fieldViolations?: FieldViolation[];
  retryDelay?: string;
}

export type JobState =
  | 'JOB_STATE_UNSPECIFIED'
  | 'JOB_STATE_QUEUED'
  | 'JOB_STATE_RUNNING'
  | 'JOB_STATE_CANCELLING'
  | 'JOB_STATE_VERIFYING'
  | 'JOB_STATE_SUCCEEDED'
  | 'JOB_STATE_FAILED'
  | 'JOB_STATE_CANCELLED';

export interface TrainingProgress {
  phase?: string;
  stage?: string;
  fraction?: number;
  primal?: Real;
  dual?: Real;
  relativeGap?: Real;
  activeKernels?: Int64;
  activeGroups?: Int64;
  supportVectors?: Int64;
  innerIterations?: Int64;
  hasModel?: boolean;
  elapsed?: string;
  remaining?: string;
  stageFraction?: number;
}

export interface StateChange {
  state?: JobState;
  reason?: string;
  error?: Status;
  model?: string;
  traceId?: string;
}

export interface ProgressEvent {
  sequence?: Int64;
  time?: string;
  attempt?: number;
  iteration?: Int64;
  stateChange?: StateChange;
  progress?: TrainingProgress;
  resumed?: { fromIteration?: Int64 };
}

export interface Attempt {
  number?: number;
  worker?: string;
  startTime?: string;
  endTime?: string;
  endReason?: string;
}

export interface KernelNormalization {
  unitDiagonal?: boolean;
  scaling?: string;
}

export interface KernelGrid {
  type?: string;
  bandwidth?: Real;
  degree?: number;
  scale?: Real;
  offset?: Real;
  block?: string;
  columns?: string[];
  normalization?: KernelNormalization;
  rule?: string;
  bandwidths?: Real[];
  minBandwidth?: Real;
  maxBandwidth?: Real;
  count?: number;
  perColumn?: boolean;
  name?: string;
  group?: string;
}

// The oneof of the learners: one member, named after the learner in lowerCamelCase, with its options.
export type LearnerOptions = { kernels?: KernelGrid[] } & Record<string, unknown>;
export type Learner = Record<string, LearnerOptions>;

/** A sentence for people, with a code for programs. */
export interface Warning {
  code?: string;
  message?: string;
}

export interface TrainRequest {
  data?: { dataset?: string; role?: string }[];
  task?: string;
  target?: string;
  targetKind?: string;
  targetScaling?: string;
  coding?: string;
  learner?: Learner;
  preprocessing?: { scaling?: string; imputation?: string; unseenCategory?: string; squareRepair?: string; blocks?: string[] };
  validation?: { holdOut?: { fraction?: Real }; folds?: { count?: number } };
  path?: { option?: string; values?: Real[]; keepAll?: boolean };
  stability?: { resamples?: number; fraction?: Real };
  rankingTest?: { columns?: number[]; C?: Real };
  /** What the server decided where the request was silent. */
  decisions?: Warning[];
  classWeights?: { weighting?: string; weights?: Record<string, Real> };
  seed?: Int64;
  threads?: number;
  priority?: number;
  stopping?: { relativeGap?: Real; maxIterations?: Int64; timeLimit?: string };
  labels?: Labels;
  model?: string;
  requestId?: string;
  displayName?: string;
}

export interface Job {
  name: string;
  displayName?: string;
  state?: JobState;
  request?: TrainRequest;
  createTime?: string;
  startTime?: string;
  endTime?: string;
  attempts?: Attempt[];
  progress?: ProgressEvent;
  lastSequence?: Int64;
  error?: Status;
  reason?: string;
  model?: string;
  labels?: Labels;
  learner?: string;
  priority?: number;
  memoryEstimateBytes?: Int64;
  nextAttemptTime?: string;
  stopRequested?: boolean;
  owner?: string;
}

export interface OptionDescription {
  name: string;
  type?: string;
  meaning?: string;
  unit?: string;
  defaultValue?: string;
  min?: Real;
  max?: Real;
  minOpen?: boolean;
  maxOpen?: boolean;
  choices?: string[];
  range?: string;
  source?: string;
  defaultPath?: Real[];
  preventsDefaultPath?: boolean;
}

export interface LearnerDescription {
  name: string;
  title?: string;
  summary?: string;
  options?: OptionDescription[];
  classification?: boolean;
  regression?: boolean;
  usesKernels?: boolean;
  defaultKernels?: string;
  severalTasks?: boolean;
  ranksColumns?: boolean;
  needsOther?: boolean;
}

export interface CostEstimate {
  memoryBytes?: Int64;
  time?: string;
  memoryBudgetBytes?: Int64;
  fits?: boolean;
  decisions?: Warning[];
  advice?: string;
}

export interface ServerInfo {
  version?: string;
  started?: string;
  tokens?: boolean;
  learners?: number;
}

export interface ApiErrorBody {
  error?: Status & { status?: string };
}

// What the pages take of the messages of schema.ts, and where they know more than it says.
import type * as schema from './schema.ts';

export type {
  Attempt,
  Int64,
  JobState,
  KernelNormalization,
  ProgressEvent,
  Real,
  ServerInfo,
  StateChange,
  TrainingProgress,
  Warning,
} from './schema.ts';
export type CostEstimate = schema.EstimateCostResponse;

/** What the server never leaves out of an answer. */
export type Named<T extends { name?: string }> = T & { name: string };
export type Labels = NonNullable<schema.Job['labels']>;
/** What people say of a resource. With its etag the server refuses to change other words than those that were seen. */
export type Words = Pick<schema.Model, 'displayName' | 'description' | 'labels' | 'etag'>;
export type OptionDescription = Named<schema.OptionDescription>;
export type LearnerDescription = Named<Omit<schema.LearnerDescription, 'options'>> & { options?: OptionDescription[] };

export type FieldViolation = schema.BadRequestFieldViolation;
export type Status = schema.Status;

export interface ApiErrorBody {
  error?: Status & { status?: string };
}

// The oneof of the learners: one member, named after the learner in lowerCamelCase, with its options.
export type KernelGrid = schema.KernelGrid;
export type LearnerOptions = { kernels?: KernelGrid[] } & Record<string, unknown>;
export type Learner = Record<string, LearnerOptions>;
export type TrainRequest = Omit<Partial<schema.TrainRequest>, 'learner'> & { learner?: Learner };
export type Job = Named<Omit<schema.Job, 'request'>> & { request?: TrainRequest };
export type JobMessage = Omit<schema.WatchJobsResponse, 'job'> & { job?: Job };

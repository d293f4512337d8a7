// Recomputes the certificate of a stored model: from its data set, its recipe and its witness.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "core/base/process/run_context.h"
#include "core/training/model/certificate.h"
#include "core/training/model/model.h"
#include "core/training/model/witness.h"
#include "server/jobs/attempt_environment.h"
#include "server/jobs/data/training_data.h"
#include "server/storage/records.h"

namespace mercer::server {

// What is verified.
struct StoredModel {
  std::string request;  // that was trained, as JobPlanner::Plan reads it
  std::vector<BlobDigest>
      dataset_blobs;  // of the data sets that it was trained on, in the order of the request
  const Model* model = nullptr;
  const Witness* witness = nullptr;
};

// What a verification reads, and the memory that it takes.
struct PreparedVerification {
  JobPlan plan;
  const LearnerEntry* entry = nullptr;
  std::vector<NamedContent> contents;
  ScratchChoice choice;
};
// Whether `contents` have verified values, or only shapes, which say what memory it takes.
enum class OpenedFor : uint8_t { kShape, kValues };
// Any data set of the same content does. Errors: kFailedPrecondition (reasons DATASET_GONE, UNKNOWN_LEARNER), kDataLoss (BLOB_DAMAGED,
// BLOB_MISSING), those of the planner and the scratch, kCancelled.
absl::StatusOr<PreparedVerification> PrepareVerification(const AttemptEnvironment& environment,
                                                         const StoredModel& stored,
                                                         OpenedFor purpose,
                                                         const CancellationToken& cancellation);
// Everything is computed anew: what trainings left in the cache of `environment` is not read. `on_stage` is told what is going on, by every
// thread of the work. Errors: those of the core's VerifyModel, kCancelled.
absl::StatusOr<Certificate> RunVerification(const AttemptEnvironment& environment,
                                            const StoredModel& stored,
                                            const PreparedVerification& prepared,
                                            const CancellationToken& cancellation,
                                            RunContext::StageCallback on_stage);

}  // namespace mercer::server

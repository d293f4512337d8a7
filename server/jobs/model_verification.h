// Recomputes the certificate of a stored model: from its data set, its recipe and its witness.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
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

// Waits until so many bytes of the memory budget are free and keeps them while the result lives.
// Errors: kCancelled, kResourceExhausted (reason JOB_TOO_LARGE).
using MemoryKeeper = std::function<absl::StatusOr<std::shared_ptr<const void>>(int64_t bytes)>;

// What a verification reads, and the memory that it takes.
struct PreparedVerification {
  JobPlan plan;
  const LearnerEntry* entry = nullptr;
  std::vector<NamedContent> contents;
  ScratchChoice choice;
};
// Whether `contents` have verified values, or only shapes, which say what memory it takes.
enum class OpenedFor : uint8_t { kShape, kValues };
// Errors: those of VerifyStoredModel.
absl::StatusOr<PreparedVerification> PrepareVerification(const AttemptEnvironment& environment,
                                                         const StoredModel& stored,
                                                         OpenedFor purpose,
                                                         const CancellationToken& cancellation);
absl::StatusOr<Certificate> RunVerification(const AttemptEnvironment& environment,
                                            const StoredModel& stored,
                                            const PreparedVerification& prepared,
                                            const CancellationToken& cancellation);

// Any data set of the same content does. Everything is computed anew: what trainings left in the
// cache of `environment` is not read. Errors: kFailedPrecondition (reason DATASET_GONE; those of
// the core's VerifyModel), kDataLoss (BLOB_DAMAGED, BLOB_MISSING), those of `take_memory`, kCancelled.
absl::StatusOr<Certificate> VerifyStoredModel(const AttemptEnvironment& environment,
                                              const StoredModel& stored,
                                              const MemoryKeeper& take_memory,
                                              const CancellationToken& cancellation);

}  // namespace mercer::server

// Jobs that use models: what they are admitted with, and their work.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
#include "mercer/v1/job_work.pb.h"
#include "server/blobs/blob_store.h"
#include "server/blobs/disk_guard.h"
#include "server/jobs/job_manager.h"
#include "server/prediction/model_cache.h"
#include "server/storage/storage.h"

namespace mercer::server {

// What they are built on; all outlives the jobs.
struct ModelJobContext {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  ModelCache* models = nullptr;
  JobManager* jobs = nullptr;
  const DiskGuard* disk = nullptr;  // may be null: results are written however full the disk is
  int threads = 1;                  // of one job
  int64_t message_bytes =
      0;  // of an answer of the API, which must hold the description of a data set
  std::function<int64_t()> max_stored_bytes = [] {
    return int64_t{0};
  };  // of all data sets; 0: no limit
};

// Look at what the request names, which has passed the checks of its form, and refuse what the work would fail on; resolve the name of
// the model. Errors: as the services document them; kCancelled.
absl::StatusOr<AdmittedJob> AdmitPrediction(const ModelJobContext& context,
                                            const v1::PredictDatasetRequest& request,
                                            const CancellationToken& cancellation);

absl::StatusOr<AdmittedJob> AdmitEvaluation(const ModelJobContext& context,
                                            const v1::EvaluateModelRequest& request,
                                            const CancellationToken& cancellation);
absl::StatusOr<AdmittedJob> AdmitVerification(const ModelJobContext& context,
                                              const v1::VerifyModelRequest& request,
                                              const CancellationToken& cancellation);

// The work of all kinds. `context` is read when work begins.
std::map<JobKind, JobWorkMaker> WorksOfModels(const ModelJobContext* context);

}  // namespace mercer::server

// How good a stored model is: its metrics on a data set, and its certificate.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "core/training/model/certificate.h"
#include "core/training/model/model.h"
#include "core/training/model/witness.h"
#include "mercer/v1/job_work.pb.h"
#include "server/blobs/blob_store.h"
#include "server/jobs/model_verification.h"
#include "server/prediction/dataset_evaluation.h"
#include "server/storage/storage.h"

namespace mercer::server {

// `model`: the name of the version; `rows`: of the data set.
v1::EvaluateModelResponse WriteEvaluation(const std::string& model, int64_t rows,
                                          const Evaluation& evaluation);

// A version with all that a verification reads, as it is stored.
struct VerifiableModel {
  std::string name;  // "models/{model}/versions/{n}"
  Model model;
  Witness witness;
  StoredModel stored;  // points to the two
};

// Errors: kNotFound, kFailedPrecondition (WITNESS_GONE), kDataLoss; `field` names the field of `name`.
absl::StatusOr<std::unique_ptr<const VerifiableModel>> ReadVerifiableModel(Storage& storage,
                                                                           BlobStore& blobs,
                                                                           std::string_view name,
                                                                           std::string_view field);

v1::VerifyModelResponse WriteVerification(const VerifiableModel& verified,
                                          const Certificate& certificate);

}  // namespace mercer::server

// Models from the core to the API.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "core/training/model/model.h"
#include "mercer/v1/model.pb.h"
#include "mercer/v1/model_version.pb.h"
#include "server/jobs/job_planner.h"
#include "server/storage/records.h"

namespace mercer::server {

// Kernel weights of more entries (kernels x outputs) are left out of the summary.
inline constexpr int64_t kMaxSummaryWeights = 1'000'000;

// What the model says itself: learner, options, target, coding, certificate, metrics, kernel
// weights, counts.
v1::ModelVersion SummarizeModel(const Model& model);
// Preprocessing and function, for view FULL. Errors: those of WriteMatrix.
absl::Status WriteModelFunction(const Model& model, v1::ModelVersion* message);

void WriteCertificate(const Certificate& certificate, v1::Certificate* message);

// The bytes that a version's row keeps (VersionRecord::summary): a v1::ModelVersion with lineage.
std::string EncodeModelSummary(const VersionContext& context, const Model& model);
// The version in view BASIC, as lists have it: without tables and what was said of rows that were not trained on. Errors: kDataLoss.
absl::StatusOr<v1::ModelVersion> WriteVersion(const VersionRecord& record);
// With them. Errors: the same.
absl::StatusOr<v1::ModelVersion> WriteVersionInDetail(const VersionRecord& record);

v1::Alias WriteAlias(const AliasRecord& record);
// With its newest version as lists have it. Errors: kDataLoss.
absl::StatusOr<v1::Model> WriteModel(const ModelRecord& record, const VersionRecord& newest);

}  // namespace mercer::server

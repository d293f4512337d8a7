// What the jobs ask of the API: the request is opaque to them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/training/contract/learner.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/warnings.h"
#include "server/storage/records.h"

namespace mercer::server {

// Labels of the versions that a path makes which keeps the models of all values.
inline constexpr char kPathValueLabel[] = "path.value";
inline constexpr char kPathBestLabel[] = "path.best";

// The label of jobs that a call waits for: they are nobody's after it, and are deleted with it. No request may name it.
inline constexpr char kCallLabel[] = "mercer_call";
inline constexpr char kCallLabelValue[] = "true";

// What a request means.
struct JobPlan {
  TrainingRecipe recipe;
  std::vector<std::string> dataset_ids;  // at least one; several are tasks of one problem
  int num_threads = 1;                   // of one job's parallel loops
};

// A request with every default that depends on the data written out, as it is stored, and what it means.
struct CompleteRequest {
  std::string request;
  JobPlan plan;
};

// What a model's version row is made from, besides the model.
struct VersionContext {
  const JobRecord* job = nullptr;
  const JobPlan* plan = nullptr;
  std::vector<DatasetRecord> datasets;  // in the order of the plan
  std::vector<TrainingWarning> warnings;
};

// Thread-safe: workers call it at the same time. The same payload always means the same plan.
class JobPlanner {
 public:
  virtual ~JobPlanner() = default;

  // Errors: kInvalidArgument with field violations (a new request), kDataLoss (a stored one that is
  // damaged).
  virtual absl::StatusOr<JobPlan> Plan(std::string_view request) const = 0;
  // Decides what the request leaves open, so that what is stored keeps its meaning when a later
  // version of the server has other defaults. `plan` is that of `request`; the answer's is the one that
  // Plan would answer for its request. `dataset` has the shape of the rows of the plan, but not their
  // values. Complete requests stay as they are. Errors: those of Plan; kCancelled.
  virtual absl::StatusOr<CompleteRequest> Complete(std::string_view request, const JobPlan& plan,
                                                   const Dataset& dataset,
                                                   const RunContext& context) const = 0;
  // The bytes for VersionRecord::summary: what lists show of the model, and its lineage.
  virtual std::string SummarizeModel(const VersionContext& context, const Model& model) const = 0;
};

// Null when there is no learner of that name. The entries outlive all jobs.
using LearnerLookup = std::function<const LearnerEntry*(std::string_view name)>;

}  // namespace mercer::server

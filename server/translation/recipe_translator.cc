#include "server/translation/recipe_translator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include <google/protobuf/descriptor.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/shorten.h"
#include "core/data/table/joined_tasks.h"
#include "server/translation/enum_translator.h"
#include "server/translation/kernel_translator.h"
#include "server/translation/option_translator.h"
#include "server/translation/request_paths.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/unknown_fields.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

constexpr int kMaxThreads = 256;
constexpr int kMaxPriority = 100;
constexpr size_t kMaxLabels = 64;
constexpr size_t kMaxTextBytes = 200;
constexpr size_t kMaxRequestIdBytes = 36;

void ReadKernels(const v1::TrainRequest& request, const LearnerEntry& entry, TrainingRecipe& recipe,
                 FieldViolations& violations) {
  const v1::Learner& learner = request.learner();
  const FieldDescriptor* const chosen = ChosenField(learner);
  const Message& options = learner.GetReflection()->GetMessage(learner, chosen);
  const FieldDescriptor* kernels = options.GetDescriptor()->FindFieldByName("kernels");
  if (kernels == nullptr) {
    return;
  }
  recipe.kernels.clear();
  const google::protobuf::Reflection& reflection = *options.GetReflection();
  for (int i = 0; i < reflection.FieldSize(options, kernels); ++i) {
    const auto& grid =
        static_cast<const v1::KernelGrid&>(reflection.GetRepeatedMessage(options, kernels, i));
    recipe.kernels.push_back(ReadKernelGrid(
        grid, absl::StrCat("learner.", chosen->name(), ".kernels[", i, "]"), violations));
  }
  if (recipe.kernels.empty() && entry.uses_kernels) {
    // RequestPlanner::Complete names the kernels of new requests. Those that were stored before it
    // did meant this one, and their models are verified with it.
    KernelGrid& one = recipe.kernels.emplace_back();
    one.rule = BandwidthRule::kMedianMultiples;
    one.bandwidths = {1.0};
  }
}

TargetScaling ReadTargetScaling(const v1::TrainRequest& request) {
  return request.target_scaling() == v1::TARGET_SCALING_STANDARDIZE ? TargetScaling::kStandardize
                                                                    : TargetScaling::kNone;
}

void ReadLearner(const v1::TrainRequest& request, const LearnerLookup& find_learner,
                 absl::Span<const LearnerEntry* const> learners, TrainingRecipe& recipe,
                 FieldViolations& violations) {
  const v1::Learner& learner = request.learner();
  const FieldDescriptor* field = ChosenField(learner);
  if (field == nullptr) {
    violations.Add("learner", "is missing; set exactly one learner");
    return;
  }
  const std::string path = absl::StrCat("learner.", field->name());
  const std::string asked = ChosenLearner(request);
  const LearnerEntry* const entry = find_learner(asked);
  if (entry == nullptr) {
    violations.Add(learner.has_other() ? "learner.other.name" : path,
                   asked.empty() ? "is missing" : UnknownLearner(asked, learners));
    return;
  }
  recipe.learner = entry->name;
  const Message& options = learner.GetReflection()->GetMessage(learner, field);
  recipe.options = learner.has_other() ? ReadOptionTexts(learner.other(), *entry, violations)
                                       : ReadOptions(options);
  ReadKernels(request, *entry, recipe, violations);
}

void ReadPreprocessing(const v1::PreprocessingOptions& message, PreprocessingOptions& options) {
  static_assert(Agree(v1::SCALING_UNIT_NORM, Scaling::kUnitNorm));
  static_assert(Agree(v1::IMPUTATION_MEAN_OR_MOST_FREQUENT, Imputation::kMeanOrMostFrequent));
  static_assert(Agree(v1::UNSEEN_CATEGORY_ALL_ZEROS, UnseenCategory::kAllZeros));
  static_assert(Agree(v1::SQUARE_REPAIR_FLIP, SquareRepairRule::kFlip));
  options.scaling = ToCoreEnum(message.scaling(), options.scaling);
  options.imputation = ToCoreEnum(message.imputation(), options.imputation);
  options.unseen_category = ToCoreEnum(message.unseen_category(), options.unseen_category);
  options.square_repair = ToCoreEnum(message.square_repair(), options.square_repair);
  options.blocks.assign(message.blocks().begin(), message.blocks().end());
}

void ReadValidation(const v1::TrainRequest& request, ValidationOptions& options,
                    FieldViolations& violations) {
  if (!request.has_validation()) {
    return;
  }
  const v1::Validation& validation = request.validation();
  switch (validation.method_case()) {
    case v1::Validation::kHoldOut:
      options.kind = ValidationKind::kHoldOut;
      if (validation.hold_out().has_fraction()) {
        options.fraction = validation.hold_out().fraction();
      }
      return;
    case v1::Validation::kFolds:
      options.kind = ValidationKind::kFolds;
      if (validation.folds().has_count()) {
        options.folds = validation.folds().count();
      }
      return;
    case v1::Validation::METHOD_NOT_SET:
      violations.Add("validation", "set exactly one of hold_out and folds");
      return;
  }
}

void ReadPath(const v1::TrainRequest& request, std::optional<OptionPath>& path) {
  if (request.has_path()) {
    path = {request.path().option(),
            {request.path().values().begin(), request.path().values().end()},
            request.path().keep_all()};
  }
}

void ReadStability(const v1::TrainRequest& request, std::optional<StabilityOptions>& stability) {
  if (!request.has_stability()) {
    return;
  }
  StabilityOptions& options = stability.emplace();
  if (request.stability().has_resamples()) {
    options.resamples = request.stability().resamples();
  }
  if (request.stability().has_fraction()) {
    options.fraction = request.stability().fraction();
  }
}

void ReadRankingTest(const v1::TrainRequest& request, std::optional<RankingTestOptions>& test) {
  if (!request.has_ranking_test()) {
    return;
  }
  RankingTestOptions& options = test.emplace();
  const auto& columns = request.ranking_test().columns();
  options.columns.assign(columns.begin(), columns.end());
  if (request.ranking_test().has_c()) {
    options.C = request.ranking_test().c();
  }
}

void ReadClassWeights(const v1::ClassWeights& message, TrainingRecipe& recipe,
                      FieldViolations& violations) {
  for (const auto& [label, weight] : message.weights()) {
    if (!(weight >= 0) || std::isinf(weight)) {
      violations.Add(absl::StrCat("class_weights.weights['", label, "']"),
                     absl::StrCat("must be finite and >= 0, is ", weight));
    }
    recipe.class_weights[label] = weight;
  }
  v1::ClassWeighting weighting = message.weighting();
  if (weighting == v1::CLASS_WEIGHTING_UNSPECIFIED) {
    weighting = message.weights().empty() ? v1::CLASS_WEIGHTING_NONE : v1::CLASS_WEIGHTING_EXPLICIT;
  }
  violations.Check((weighting == v1::CLASS_WEIGHTING_EXPLICIT) != message.weights().empty(),
                   "class_weights.weights",
                   message.weights().empty() ? "is missing" : "is only for weighting EXPLICIT");
  recipe.class_weighting = ToCoreEnum(weighting, ClassWeighting{});
}

void ReadStopping(const v1::Stopping& stopping, RunLimits& limits, FieldViolations& violations) {
  if (stopping.has_relative_gap()) {
    limits.relative_gap = stopping.relative_gap();
  }
  if (stopping.has_max_iterations()) {
    limits.max_iterations = stopping.max_iterations();
  }
  if (stopping.has_time_limit()) {
    limits.max_time = ToDuration(stopping.time_limit());
    CheckTimeLimit(stopping.time_limit(), "stopping.time_limit", violations);
  }
}

void ReadData(const v1::TrainRequest& request, std::vector<std::string>& dataset_ids,
              FieldViolations& violations) {
  violations.Check(!request.data().empty(), "data", "is missing; name at least one data set");
  if (static_cast<size_t>(request.data_size()) > TaskCoding::kMaxTasks) {
    violations.Add("data", absl::StrCat("must be at most ", TaskCoding::kMaxTasks, " data sets"));
    return;
  }
  std::map<std::string, int> seen;
  for (int i = 0; i < request.data_size(); ++i) {
    const std::string path = absl::StrCat("data[", i, "]");
    const absl::StatusOr<std::string> id =
        ParseDatasetName(request.data(i).dataset(), absl::StrCat(path, ".dataset"));
    violations.AddAll("", id.status());
    if (id.ok()) {
      dataset_ids.push_back(*id);
    }
    violations.Check(i == 0 || request.data(i).role() == v1::DATA_ROLE_TASK,
                     absl::StrCat(path, ".role"), "must be TASK, for learners of several tasks");
    const auto [first, is_new] = seen.emplace(request.data(i).dataset(), i);
    violations.Check(is_new, absl::StrCat(path, ".dataset"),
                     absl::StrCat("is data[", first->second, "] again"));
  }
}

// Several data sets are tasks, and say so by themselves.
void ReadTask(const v1::TrainRequest& request, const LearnerEntry* learner, TrainingRecipe& recipe,
              FieldViolations& violations) {
  if (request.has_task()) {
    recipe.task = request.task();
  }
  if (request.data_size() < 2) {
    violations.Check(request.data().empty() || request.data(0).role() != v1::DATA_ROLE_TASK ||
                         learner == nullptr || learner->several_tasks,
                     "data[0].role",
                     absl::StrCat("learner '", learner == nullptr ? "" : learner->name,
                                  "' learns one task; leave it out"));
    return;
  }
  if (request.has_task()) {
    violations.Add("task", "is for one data set; several are the tasks");
  } else if (learner != nullptr && !learner->several_tasks) {
    violations.Add(
        "data", absl::StrCat("learner '", learner->name, "' learns one task, from one data set"));
  } else {
    recipe.task = kJoinedTaskColumn;
  }
}

void CheckModel(const v1::TrainRequest& request, FieldViolations& violations) {
  if (request.model().empty()) {
    return;
  }
  violations.AddAll("", ParseWholeModelName(request.model(), "model").status());
}

void CheckScalars(const v1::TrainRequest& request, FieldViolations& violations) {
  violations.Check(request.threads() >= 0 && request.threads() <= kMaxThreads, "threads",
                   absl::StrCat("must be in [0, ", kMaxThreads, "], is ", request.threads()));
  CheckPriority(request.priority(), violations);
  CheckLabelsOfTraining(request.labels(), request.path(), violations);
  CheckRequestId(request.request_id(), violations);
  CheckDisplayName(request.display_name(), violations);
  CheckModel(request, violations);
}

}  // namespace

void CheckLabelsOfTraining(const google::protobuf::Map<std::string, std::string>& labels,
                           const v1::OptionPath& path, FieldViolations& violations) {
  CheckLabelsOfJob(labels, violations);
  if (!path.keep_all()) {
    return;
  }
  for (const char* const label : {kPathValueLabel, kPathBestLabel}) {
    violations.Check(labels.count(label) == 0, absl::StrCat("labels['", label, "']"),
                     "is a label that path.keep_all sets");
  }
  violations.Check(labels.size() + 2 <= kMaxLabels, "labels",
                   absl::StrCat("must be at most ", kMaxLabels - 2,
                                " when path.keep_all adds two, are ", labels.size()));
}

void CheckLabelsOfJob(const google::protobuf::Map<std::string, std::string>& labels,
                      FieldViolations& violations) {
  CheckLabels(labels, violations);
  violations.Check(labels.count(kCallLabel) == 0, "labels",
                   absl::StrCat("the key '", kCallLabel, "' is the server's own"));
}

void CheckLabels(const google::protobuf::Map<std::string, std::string>& labels,
                 FieldViolations& violations) {
  violations.Check(labels.size() <= kMaxLabels, "labels",
                   absl::StrCat("must be at most ", kMaxLabels, ", are ", labels.size()));
  for (const auto& [key, value] : labels) {
    if (key.empty() || key.size() > 63 ||
        key.find_first_not_of(kNameCharacters) != std::string::npos) {
      violations.Add("labels", absl::StrCat("the key '", Shorten(key, kQuotedBytes),
                                            "' must be 1 to 63 of a-z, 0-9, '-', '_', '.'"));
    }
    if (value.size() > kMaxTextBytes) {
      violations.Add("labels", absl::StrCat("the value of '", Shorten(key, kQuotedBytes),
                                            "' is longer than ", kMaxTextBytes, " bytes"));
    }
  }
}

void CheckPriority(int32_t priority, FieldViolations& violations) {
  violations.Check(priority >= -kMaxPriority && priority <= kMaxPriority, "priority",
                   absl::StrCat("must be in [-100, 100], is ", priority));
}

void CheckRequestId(std::string_view request_id, FieldViolations& violations) {
  violations.Check(
      request_id.size() <= kMaxRequestIdBytes &&
          std::all_of(request_id.begin(), request_id.end(), absl::ascii_isgraph),
      "request_id",
      absl::StrCat("must be at most ", kMaxRequestIdBytes, " printable ASCII characters"));
}

void CheckTimeLimit(const google::protobuf::Duration& limit, const std::string& field,
                    FieldViolations& violations) {
  constexpr int64_t kMostSeconds = 315'576'000'000;  // the most that JSON says: 10,000 years
  const absl::Duration time = ToDuration(limit);
  if (limit.seconds() > kMostSeconds || (limit.seconds() == kMostSeconds && limit.nanos() > 0)) {
    violations.Add(field, absl::StrCat("must be at most ", kMostSeconds, " s"));
  } else if (limit.nanos() <= -1'000'000'000 || limit.nanos() >= 1'000'000'000 ||
             (limit.seconds() > 0 && limit.nanos() < 0)) {
    violations.Add(field, absl::StrCat("its nanos must be in [0, 999999999], are ", limit.nanos()));
  } else if (time <= absl::ZeroDuration()) {
    violations.Add(field, absl::StrCat("must be > 0, is ", absl::FormatDuration(time)));
  }
}

void CheckDisplayName(std::string_view display_name, FieldViolations& violations) {
  violations.Check(
      display_name.size() <= kMaxTextBytes, "display_name",
      absl::StrCat("must be at most ", kMaxTextBytes, " bytes, are ", display_name.size()));
}

void WriteDecisions(const CompletedRecipe& completed, v1::TrainRequest& request) {
  const TrainingRecipe& recipe = completed.recipe;
  if (recipe.kind == TargetKind::kRegression) {
    request.set_target_kind(v1::TARGET_KIND_REGRESSION);
    if (request.target_scaling() == v1::TARGET_SCALING_UNSPECIFIED) {
      request.set_target_scaling(v1::TARGET_SCALING_STANDARDIZE);
    }
  }
  if (recipe.path.has_value() && !request.has_path()) {
    v1::OptionPath& path = *request.mutable_path();
    path.set_option(recipe.path->option);
    path.mutable_values()->Assign(recipe.path->values.begin(), recipe.path->values.end());
  }
  if (recipe.validation.kind == ValidationKind::kHoldOut && !request.has_validation()) {
    Choose(*request.mutable_validation(), &v1::Validation::mutable_hold_out);
  } else if (recipe.validation.kind == ValidationKind::kFolds && !request.has_validation()) {
    v1::Folds& folds = Choose(*request.mutable_validation(), &v1::Validation::mutable_folds);
    if (recipe.validation.folds.has_value()) {
      folds.set_count(*recipe.validation.folds);
    }
  }
  for (const TrainingWarning& decision : completed.decisions) {
    *request.add_decisions() = WriteWarning(decision);
  }
}

absl::Status ReadDecisions(const v1::TrainRequest& request, const LearnerEntry& entry,
                           TrainingRecipe& recipe) {
  FieldViolations violations;
  recipe.target_scaling = ReadTargetScaling(request);
  ReadKernels(request, entry, recipe, violations);
  return violations.ToStatus();
}

v1::Warning WriteWarning(const TrainingWarning& warning) {
  static_assert(Agree(v1::WARNING_CODE_EXACT_IS_CHEAPER, WarningCode::kExactIsCheaper));
  v1::Warning message;
  message.set_code(ToApiEnum<v1::WarningCode>(warning.code));
  message.set_message(warning.message);
  PutAll(warning.values, *message.mutable_values());
  return message;
}

std::string EncodeTrainRequest(const v1::TrainRequest& request) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::TrainRequest stored = request;
  stored.clear_request_id();
  return EncodeWhole(stored);
}

absl::StatusOr<v1::TrainRequest> DecodeTrainRequest(std::string_view bytes) {
  v1::TrainRequest request;
  if (!ParseWhole(bytes, request)) {
    return WithReason(absl::DataLossError("a stored request cannot be read"),
                      "STORED_REQUEST_DAMAGED");
  }
  return request;
}

absl::StatusOr<JobPlan> ReadTrainRequest(const v1::TrainRequest& request,
                                         const LearnerLookup& find_learner, int default_threads,
                                         absl::Span<const LearnerEntry* const> learners) {
  static_assert(Agree(v1::CODING_CHOICE_ONE_VS_ONE, CodingChoice::kOneVsOne));
  FieldViolations violations;
  CheckUnknownFields(request, violations);
  JobPlan plan;
  TrainingRecipe& recipe = plan.recipe;
  ReadData(request, plan.dataset_ids, violations);
  ReadLearner(request, find_learner, learners, recipe, violations);
  ReadTask(request, find_learner(recipe.learner), recipe, violations);
  recipe.target = request.target();
  recipe.kind = request.target_kind() == v1::TARGET_KIND_REGRESSION ? TargetKind::kRegression
                                                                    : TargetKind::kClassification;
  recipe.coding = ToCoreEnum(request.coding(), recipe.coding);
  recipe.target_scaling = ReadTargetScaling(request);
  ReadPreprocessing(request.preprocessing(), recipe.preprocessing);
  ReadValidation(request, recipe.validation, violations);
  ReadPath(request, recipe.path);
  ReadStability(request, recipe.stability);
  ReadRankingTest(request, recipe.ranking_test);
  ReadClassWeights(request.class_weights(), recipe, violations);
  recipe.seed = request.seed();
  ReadStopping(request.stopping(), recipe.limits, violations);
  CheckScalars(request, violations);
  plan.num_threads = request.threads() > 0 ? request.threads() : default_threads;

  if (const LearnerEntry* entry = find_learner(recipe.learner); entry != nullptr) {
    // A field that is wrong for two reasons is named once.
    std::set<std::string> named;
    for (const FieldViolation& violation : violations.violations()) {
      named.insert(violation.field);
    }
    const absl::Status valid = WithRequestPaths(ValidateRecipe(*entry, recipe), request.learner());
    for (const FieldViolation& violation : GetFieldViolations(valid)) {
      if (named.count(violation.field) == 0) {
        violations.Add(violation.field, violation.description);
      }
    }
    if (!valid.ok() && violations.empty()) {
      return valid;
    }
  }
  if (!violations.empty()) {
    return violations.ToStatus();
  }
  return plan;
}

}  // namespace mercer::server

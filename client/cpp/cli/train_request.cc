#include "client/cpp/cli/train_request.h"

#include <cmath>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"

#include "client/cpp/cli/session.h"
#include "client/cpp/cli/time_limit.h"
#include "client/cpp/field_text.h"
#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

constexpr int kMostPathValues = 1000;

// "balanced", "none", or "spam=2,other=1"
absl::Status SetClassWeights(const std::string& text, v1::ClassWeights& weights) {
  if (text == "balanced" || text == "none") {
    weights.set_weighting(text == "none" ? v1::CLASS_WEIGHTING_NONE : v1::CLASS_WEIGHTING_BALANCED);
    return absl::OkStatus();
  }
  weights.set_weighting(v1::CLASS_WEIGHTING_EXPLICIT);
  std::vector<std::string> elements;
  MERCER_RETURN_IF_ERROR(SplitList(text, elements));
  for (const std::string& element : elements) {
    const size_t equals = element.rfind('=');
    double weight = 0.0;
    if (equals == std::string::npos || !absl::SimpleAtod(element.substr(equals + 1), &weight)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--class-weights: must be balanced, none, or CLASS=NUMBER,..., is '", text, "'"));
    }
    (*weights.mutable_weights())[element.substr(0, equals)] = weight;
  }
  return absl::OkStatus();
}

// The number of a word of an enumeration.
absl::StatusOr<int> ReadWord(const std::string& flag, const google::protobuf::EnumDescriptor& words,
                             const std::string& text) {
  const int number = EnumNumber(words, text);
  if (number < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        flag, ": must be one of ", absl::StrJoin(EnumWords(words), ", "), ", is '", text, "'"));
  }
  return number;
}

absl::Status SetPreprocessing(const TrainFlags& flags, v1::PreprocessingOptions& preprocessing) {
  if (!flags.scaling.empty()) {
    MERCER_ASSIGN_OR_RETURN(const int scaling,
                            ReadWord("--scaling", *v1::Scaling_descriptor(), flags.scaling));
    preprocessing.set_scaling(static_cast<v1::Scaling>(scaling));
  }
  if (flags.impute) {
    preprocessing.set_imputation(v1::IMPUTATION_MEAN_OR_MOST_FREQUENT);
  }
  if (flags.unseen_zeros) {
    preprocessing.set_unseen_category(v1::UNSEEN_CATEGORY_ALL_ZEROS);
  }
  if (!flags.square_repair.empty()) {
    MERCER_ASSIGN_OR_RETURN(
        const int repair,
        ReadWord("--square-repair", *v1::SquareRepair_descriptor(), flags.square_repair));
    preprocessing.set_square_repair(static_cast<v1::SquareRepair>(repair));
  }
  preprocessing.mutable_blocks()->Assign(flags.blocks.begin(), flags.blocks.end());
  return absl::OkStatus();
}

// --hold-out and --folds: a number, or "split" for what the data set's column of that role says.
absl::Status SetValidation(const TrainFlags& flags, v1::Validation& validation) {
  constexpr char kSplit[] = "split";
  if (!flags.hold_out.empty()) {
    v1::HoldOut& hold_out = *validation.mutable_hold_out();
    double fraction = 0.0;
    if (absl::SimpleAtod(flags.hold_out, &fraction)) {
      hold_out.set_fraction(fraction);
    } else if (flags.hold_out != kSplit) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--hold-out: must be a share of the rows, or split, is '", flags.hold_out, "'"));
    }
  }
  if (!flags.folds.empty()) {
    v1::Folds& folds = *validation.mutable_folds();
    int32_t count = 0;
    if (absl::SimpleAtoi(flags.folds, &count)) {
      folds.set_count(count);
    } else if (flags.folds != kSplit) {
      return absl::InvalidArgumentError(
          absl::StrCat("--folds: must be a number of folds, or split, is '", flags.folds, "'"));
    }
  }
  return absl::OkStatus();
}

// FIRST:LAST:COUNT, both ends > 0.
absl::Status SetPathRange(const std::string& text, v1::OptionPath& path) {
  const std::vector<std::string> parts = absl::StrSplit(text, ':');
  double first = 0;
  double last = 0;
  int count = 0;
  if (parts.size() != 3 || !absl::SimpleAtod(parts[0], &first) ||
      !absl::SimpleAtod(parts[1], &last) || !absl::SimpleAtoi(parts[2], &count) || !(first > 0) ||
      !(last > 0) || !std::isfinite(first) || !std::isfinite(last) || count < 2 ||
      count > kMostPathValues) {
    return absl::InvalidArgumentError(
        absl::StrCat("--path: a range is FIRST:LAST:COUNT with ends > 0 and 2 to ", kMostPathValues,
                     " values, is '", text, "'"));
  }
  for (int i = 0; i < count; ++i) {
    const double share = static_cast<double>(i) / (count - 1);
    path.add_values(i == count - 1 ? last : first * std::pow(last / first, share));
  }
  return absl::OkStatus();
}

absl::Status SetPath(const std::string& text, v1::OptionPath& path) {
  MERCER_ASSIGN_OR_RETURN(const auto assignment, SplitAssignment("--path", text));
  path.set_option(assignment.first);
  if (assignment.second.find(':') != std::string::npos) {
    return SetPathRange(assignment.second, path);
  }
  for (const absl::string_view element : absl::StrSplit(assignment.second, ',')) {
    double value = 0;
    if (!absl::SimpleAtod(std::string(element), &value)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--path: must be OPTION=VALUE,... or OPTION=FIRST:LAST:COUNT, is '", text, "'"));
    }
    path.add_values(value);
  }
  return absl::OkStatus();
}

absl::Status SetRankingTest(const std::string& text, v1::RankingTest& test) {
  if (text == "auto") {
    return absl::OkStatus();
  }
  for (const absl::string_view element : absl::StrSplit(text, ',')) {
    int count = 0;
    if (!absl::SimpleAtoi(element, &count)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--test-ranking: must be numbers of columns, as 1,2,4, or auto, is '", text, "'"));
    }
    test.add_columns(count);
  }
  return absl::OkStatus();
}

// Which rows are of which task.
void SetTasks(const TrainFlags& flags, v1::TrainRequest& request) {
  if (flags.task.has_value()) {
    request.set_task(*flags.task);
  }
  if (flags.one_task) {
    request.set_task("");
  }
  for (const std::string& dataset : flags.further_tasks) {
    request.add_data()->set_dataset(FullName("datasets", dataset));
  }
  if (!flags.further_tasks.empty()) {
    for (v1::DataInput& input : *request.mutable_data()) {
      input.set_role(v1::DATA_ROLE_TASK);
    }
  }
}

absl::Status SetStopping(const TrainFlags& flags, v1::Stopping& stopping) {
  if (flags.gap.has_value()) {
    stopping.set_relative_gap(*flags.gap);
  }
  if (flags.max_iterations.has_value()) {
    stopping.set_max_iterations(*flags.max_iterations);
  }
  return SetTimeLimit(flags.time_limit, stopping);
}

}  // namespace

absl::StatusOr<v1::TrainRequest> MakeTrainRequest(const TrainFlags& flags) {
  v1::TrainRequest request;
  request.add_data()->set_dataset(FullName("datasets", flags.data));
  SetTasks(flags, request);
  request.set_target(flags.target);
  if (flags.regression || flags.classes) {
    request.set_target_kind(flags.regression ? v1::TARGET_KIND_REGRESSION
                                             : v1::TARGET_KIND_CLASSIFICATION);
  }
  if (!flags.target_scaling.empty()) {
    MERCER_ASSIGN_OR_RETURN(
        const int scaling,
        ReadWord("--target-scaling", *v1::TargetScaling_descriptor(), flags.target_scaling));
    request.set_target_scaling(static_cast<v1::TargetScaling>(scaling));
  }
  if (flags.one_vs_one) {
    request.set_coding(v1::CODING_CHOICE_ONE_VS_ONE);
  }
  MERCER_RETURN_IF_ERROR(SetPreprocessing(flags, *request.mutable_preprocessing()));
  if (!flags.hold_out.empty() || !flags.folds.empty()) {
    MERCER_RETURN_IF_ERROR(SetValidation(flags, *request.mutable_validation()));
  }
  if (!flags.path.empty()) {
    MERCER_RETURN_IF_ERROR(SetPath(flags.path, *request.mutable_path()));
    request.mutable_path()->set_keep_all(flags.keep_path);
  }
  if (flags.stability.has_value()) {
    request.mutable_stability()->set_resamples(*flags.stability);
  }
  if (!flags.test_ranking.empty()) {
    MERCER_RETURN_IF_ERROR(SetRankingTest(flags.test_ranking, *request.mutable_ranking_test()));
  }
  if (!flags.class_weights.empty()) {
    MERCER_RETURN_IF_ERROR(SetClassWeights(flags.class_weights, *request.mutable_class_weights()));
  }
  MERCER_RETURN_IF_ERROR(SetStopping(flags, *request.mutable_stopping()));
  request.set_seed(flags.seed);
  request.set_threads(flags.threads);
  request.set_priority(flags.priority);
  for (const std::string& text : flags.labels) {
    MERCER_ASSIGN_OR_RETURN(const auto label, SplitAssignment("--label", text));
    (*request.mutable_labels())[label.first] = label.second;
  }
  if (!flags.model.empty()) {
    request.set_model(FullName("models", flags.model));
  }
  request.set_display_name(flags.display_name);
  request.set_request_id(flags.request_id);
  return request;
}

}  // namespace mercer::client

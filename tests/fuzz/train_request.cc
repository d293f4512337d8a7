// TrainRequest messages: translation, validation, the memory estimate, the stored form, and the answer to a refusal.
#include <string>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "mercer/v1/training.pb.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/request_paths.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/server/answers.h"
#include "tests/fuzz/support/server/message_mutator.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

using server::DecodeTrainRequest;
using server::EncodeTrainRequest;

void CheckAnswer(const absl::Status& status) {
  RequireRefusal(status, {absl::StatusCode::kInvalidArgument});
  for (const FieldViolation& violation : GetFieldViolations(status)) {
    Require(!violation.description.empty(), "a violation says what is wrong");
  }
  RequireTold(status);
}

void CheckStoredForm(const v1::TrainRequest& request) {
  const std::string stored = EncodeTrainRequest(request);
  const absl::StatusOr<v1::TrainRequest> again = DecodeTrainRequest(stored);
  Require(again.ok() && EncodeTrainRequest(*again) == stored, "what was stored reads back");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  SilenceProtobuf();
  static const auto& dataset = *new Dataset(MixedData());
  v1::TrainRequest request;
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return;
  }
  CheckStoredForm(request);
  const server::LearnerLookup find = [](std::string_view name) { return FindLearner(name); };
  const absl::StatusOr<server::JobPlan> plan = server::ReadTrainRequest(request, find, 1);
  if (!plan.ok()) {
    CheckAnswer(plan.status());
    return;
  }
  const LearnerEntry& entry = *FindLearner(plan->recipe.learner);
  Require(ValidateRecipe(entry, plan->recipe).ok(), "what is accepted is a valid recipe");
  const absl::StatusOr<size_t> estimate =
      EstimateRecipeMemory(entry, plan->recipe, dataset, RunContext());
  if (!estimate.ok()) {
    RequireRefusal(server::WithRequestPaths(estimate.status(), request.learner()),
                   {absl::StatusCode::kInvalidArgument, absl::StatusCode::kResourceExhausted},
                   false);
  }
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  v1::TrainRequest named;
  named.add_data()->set_dataset("datasets/clouds");
  named.mutable_learner()->mutable_other()->set_name("svm");
  (*named.mutable_learner()->mutable_other()->mutable_options())["C"] = "1e-3";
  seeds.push_back(named.SerializeAsString());
  const google::protobuf::Descriptor& learners = *v1::Learner::descriptor();
  for (const LearnerEntry* entry : AllLearners()) {
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/clouds");
    request.set_model("models/clouds");
    request.set_target("label");
    request.set_request_id("once");
    (*request.mutable_labels())["team"] = "blue";
    v1::Learner& learner = *request.mutable_learner();
    google::protobuf::Message& options =
        *learner.GetReflection()->MutableMessage(&learner, learners.FindFieldByName(entry->name));
    if (const auto* kernels = options.GetDescriptor()->FindFieldByName("kernels")) {
      v1::KernelGrid grid;
      grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
      grid.set_rule(v1::BANDWIDTH_RULE_LOG_SPACED);
      grid.set_min_bandwidth(1);
      grid.set_max_bandwidth(8);
      grid.set_count(3);
      options.GetReflection()->AddMessage(&options, kernels)->CopyFrom(grid);
    }
    request.mutable_stopping()->mutable_time_limit()->set_seconds(60);
    request.mutable_validation()->mutable_folds()->set_count(5);
    request.mutable_preprocessing()->set_scaling(v1::SCALING_MIN_MAX);
    seeds.push_back(request.SerializeAsString());
    request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
    (*request.mutable_class_weights()->mutable_weights())["1"] = 2;
    seeds.push_back(request.SerializeAsString());
  }
  return seeds;
}

}  // namespace mercer::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned int seed) {
  return mercer::fuzz::MutateMessageBytes(mercer::v1::TrainRequest::default_instance(), 0, data,
                                          size, max_size, seed);
}

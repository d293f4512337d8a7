// Kernels and options of learners as people type them: the first line is a kernel, each further line an option.
#include "client/cpp/kernel_syntax.h"

#include <string>

#include "client/cpp/learner_options.h"
#include "core/base/status/errors.h"
#include "core/base/status/options.h"
#include "core/learners/registry.h"
#include "server/translation/option_translator.h"
#include "server/translation/recipe_translator.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/input.h"
#include "tests/fuzz/support/server/answers.h"

namespace mercer::fuzz {
namespace {

void RequireRefused(const absl::Status& status) {
  RequireRefusal(status, {absl::StatusCode::kInvalidArgument}, false);
}

void CheckOptionTexts(const LearnerEntry& entry, const std::string& text) {
  for (const OptionField& field : entry.fields) {
    const absl::StatusOr<OptionValue> value = ParseOptionText(field, text);
    if (!value.ok()) {
      RequireRefused(value.status());
      continue;
    }
    OptionValue copy = *value;
    Require(CheckOptionValue(field, copy).ok(), "what was read is in its range");
  }
}

void CheckLearner(const LearnerEntry& entry, const client::OptionTexts& options,
                  const std::string& kernel) {
  const v1::LearnerDescription description = server::DescribeLearner(entry);
  const absl::StatusOr<v1::Learner> learner = client::MakeLearner(description, options, {kernel});
  if (!learner.ok()) {
    return RequireRefused(learner.status());
  }
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/d");
  *request.mutable_learner() = *learner;
  const server::LearnerLookup find = [](std::string_view name) { return FindLearner(name); };
  const absl::StatusOr<server::JobPlan> plan = server::ReadTrainRequest(request, find, 1);
  if (!plan.ok()) {
    RequireRefusal(plan.status(), {absl::StatusCode::kInvalidArgument});
    RequireTold(plan.status());
  }
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  Input input(bytes);
  if (!IsUtf8(bytes)) {
    return;  // it cannot travel in a request
  }
  const std::string kernel(input.Line());
  const absl::StatusOr<v1::KernelGrid> grid = client::ParseKernel(kernel);
  if (!grid.ok()) {
    RequireRefused(grid.status());
  }
  client::OptionTexts options;
  while (!input.empty() && options.size() < 8) {
    const std::string_view line = input.Line();
    const size_t equals = line.find('=');
    options.emplace_back(line.substr(0, equals), equals == std::string_view::npos
                                                     ? std::string_view()
                                                     : line.substr(equals + 1));
  }
  for (const LearnerEntry* entry : AllLearners()) {
    CheckLearner(*entry, options, kernel);
    CheckOptionTexts(*entry, options.empty() ? kernel : options[0].second);
  }
}

std::vector<std::string> Seeds() {
  return {
      "linear\nC=1",
      "gaussian bandwidths=1..100:12\np=2\nouter_loop=newton",
      "gaussian bandwidth=0.5 per_column\nC=1e-3\nepsilon=0.1",
      "gaussian median=0.5,1,2\nlambda=inf",
      "gaussian median=0.1..10:20\nC=1",
      "polynomial degree=2 offset=1 columns=age,\"first name\" unit_diagonal scaling=trace\n",
      "distance block=video bandwidth=10",
      "laplacian min_bandwidth=1 max_bandwidth=2 count=3",
      "linear name=hue group=\"two words\"",
  };
}

}  // namespace mercer::fuzz

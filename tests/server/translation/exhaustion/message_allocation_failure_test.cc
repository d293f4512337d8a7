// Whichever allocation fails while a message is made, what there is of the message can be destroyed: every allocation fails in its turn.
#include <functional>

#include <gtest/gtest.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/run_context.h"
#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/training/terms/kernel_term.h"
#include "server/translation/error_details.h"
#include "server/translation/job_translator.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"
#include "tests/support/exhaustion/failing_allocations.h"
#include "tests/support/model_terms.h"

// Protobuf leaves behind what a copy had begun when an allocation fails; that is no leak of ours.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace mercer::server {
namespace {

class MessageAllocationFailureTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { KeepMemoryInReserve(int64_t{16} << 20); }

  static void ExpectBorne(const std::function<void()>& write) {
    const auto run = [&](int64_t first, int64_t count) {
      RefillReserve();
      const FailingAllocations failing(first, count);
      return RunSafely("a message", [&] {
        write();
        return absl::OkStatus();
      });
    };
    ASSERT_EQ(run(FailingAllocations::kNever, 0), absl::OkStatus());
    const int64_t all = FailingAllocations::seen();
    ASSERT_GT(all, 0);
    for (int64_t first = 0; first < all; ++first) {
      const absl::Status status = run(first, 1);
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << first << ": " << status;
    }
  }
};

// Of three classes, with tables that name neither rows nor columns.
Model ThreeClassModel() {
  Model model;
  RoleColumn labels;
  labels.values = Vector{{0.0, 1.0, 2.0}};
  model.coding = *OutputCoding::FromLabels(labels, {0, 1, 2}, CodingChoice::kAuto, RunContext());
  model.options["C"] = 1.0;
  model.options["scales"] = std::vector<double>{1, 2};
  model.function.bias = Vector::Zero(3);
  AddTerm(KernelTerm(), model.function);
  model.summary.kernel_names = {"a kernel whose name has no room in a string of its own"};
  model.summary.kernel_weights = Matrix{{1, 2, 3}};
  for (const Matrix& values : {Matrix{{1, 2, 3}}, Matrix{{1, 2, 3, 4}}}) {
    ModelTable& table = model.summary.tables.emplace_back();
    table.name = "ranking";
    table.values = values;
  }
  model.metrics = {{"path.1.value", 0.123456789123}, {"path.1.accuracy", 0.5}, {"path.best", 1}};
  return model;
}

const Labels kLabels = {{"team", "blue"}, {"a-longer-key-of-a-label", "and a long value of it"}};

TEST_F(MessageAllocationFailureTest, OfAModel) {
  const Model model = ThreeClassModel();
  ExpectBorne([&] { SummarizeModel(model); });
  ExpectBorne([&] {
    v1::ModelVersion message;
    WriteModelFunction(model, &message).IgnoreError();
  });
  VersionRecord record;
  record.model = "a-model-whose-name-is-long";
  record.version = 1;
  record.labels = kLabels;
  record.aliases = {"live", "candidate"};
  record.summary = SummarizeModel(model).SerializeAsString();
  ExpectBorne([&] { WriteVersionInDetail(record).IgnoreError(); });
  ExpectBorne([&] { WriteVersion(record).IgnoreError(); });
  ModelRecord of_model;
  of_model.name = record.model;
  of_model.labels = kLabels;
  ExpectBorne([&] { WriteModel(of_model, record).IgnoreError(); });
}

TEST_F(MessageAllocationFailureTest, OfAJobAndItsSummary) {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.mutable_learner()->mutable_svm()->add_kernels();
  request.mutable_validation()->mutable_folds();
  (*request.mutable_class_weights()->mutable_weights())["a class of the target"] = 2;
  (*request.mutable_labels())["team"] = "blue";
  for (const char* const message : {"the target is a number", "a path is gone through"}) {
    *request.add_decisions() = WriteWarning({WarningCode::kExactIsCheaper, message, {{"a", "b"}}});
  }
  JobRecord job;
  job.request = EncodeTrainRequest(request);
  job.labels = kLabels;
  job.state = JobState::kFailed;
  FieldViolations violations;
  violations.Add("C", "is too large");
  job.error = EncodeError(WithReason(violations.ToStatus(), "BAD_FIELDS", {{"rows", "12"}}));
  ExpectBorne([&] { WriteJob(job, {AttemptRecord()}).IgnoreError(); });
  ExpectBorne([&] {
    v1::ProgressEvent event;
    CompleteTerminalEvent(job, &event);
  });
  ExpectBorne([&] { EncodeTrainRequest(request); });
  const Model model = ThreeClassModel();
  VersionContext context;
  context.job = &job;
  context.warnings = {{WarningCode::kExactIsCheaper, "told by the training", {{"a", "b"}}}};
  ExpectBorne([&] { EncodeModelSummary(context, model); });
}

TEST_F(MessageAllocationFailureTest, OfAnError) {
  FieldViolations violations;
  violations.Add("learner.svm.C", "is too large");
  const absl::Status status =
      WithReason(violations.ToStatus(), "BAD_FIELDS",
                 {{"resource_type", "model"}, {"resource_name", "models/clouds"}, {"rows", "12"}});
  ExpectBorne([&] { ToRpcStatus(status); });
}

}  // namespace
}  // namespace mercer::server

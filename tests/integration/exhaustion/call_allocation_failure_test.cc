// An allocation that fails ends the call that asked for it, never the process: every RPC, while allocations of the server
// fail at random. Its threads and the calls of others go on, and nothing acknowledged is lost.
#include <iterator>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/crash_note.h"
#include "tests/integration/field_walk_fixture.h"
#include "tests/support/exhaustion/failing_allocations.h"
#include "tests/support/sanitized.h"

// Protobuf leaves behind what its maps had begun when an allocation fails; that is no leak of ours.
// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() { return "detect_leaks=0"; }

namespace mercer::server {
namespace {

using google::protobuf::MethodDescriptor;
using grpc::StatusCode;

constexpr int64_t kRates[] = {1000, 100, 15};  // of so many allocations one fails
constexpr int kCallsOfRate = kSanitized ? 3 : 15;
constexpr std::chrono::seconds kLimit(60);

const MethodDescriptor& MethodNamed(const std::string& name) {
  const size_t slash = name.find('/');
  const auto* const service = google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
      "mercer.v1." + name.substr(0, slash));
  return *service->FindMethodByName(name.substr(slash + 1));
}

// Jobs run on: it is calls that fail here.
bool TrainsNow() { return CurrentCrashNote() != nullptr; }

// What a call may end with that found no memory; when there is none for the error's details either, with less than those.
bool IsOfFailure(const grpc::Status& status) {
  const std::set<StatusCode> codes = {StatusCode::RESOURCE_EXHAUSTED, StatusCode::INTERNAL,
                                      StatusCode::UNAVAILABLE, StatusCode::CANCELLED};
  return codes.count(status.error_code()) > 0;
}

class AllocationFailureTest : public FieldWalkTest {
 protected:
  void SetUp() override {
    KeepMemoryInReserve(int64_t{16} << 20);
    FieldWalkTest::SetUp();
  }

  void ExpectHealthy() {
    const auto* const service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            "mercer.v1.TrainingService");
    const AnyAnswer answer =
        CallAnyMethod(channel_, *service->FindMethodByName("ListLearners"),
                      {std::make_shared<v1::ListLearnersRequest>()}, kLimit, SIZE_MAX);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
  }
};

class CallAllocationFailure : public AllocationFailureTest,
                              public testing::WithParamInterface<std::string> {};

TEST_P(CallAllocationFailure, EndsTheCallAlone) {
  const MethodDescriptor& method = MethodNamed(GetParam());
  uint64_t seed = 1;
  int failed = 0;
  const auto call = [&](const GoodRequest& good, int64_t rate) {
    const Messages messages = good.make(*this);
    AnyAnswer answer;
    {
      const FailingAllocations failing(SeldomFailures{seed, rate, TrainsNow});
      answer = CallAnyMethod(channel_, method, messages, kLimit, good.max_answers);
    }
    failed += answer.status.ok() ? 0 : 1;
    EXPECT_TRUE(answer.status.ok() || IsOfFailure(answer.status))
        << "seed " << seed << ": " << answer.status.error_code() << " "
        << answer.status.error_message();
    ++seed;
    // It may be done for all that was answered, or be left half done.
    for (const GoodRequest::Hook& hook : {good.after_success, good.after_refusal}) {
      if (hook) {
        hook(*this);
      }
    }
  };
  const std::vector<GoodRequest>& requests = GoodRequests().at(GetParam());
  for (const GoodRequest& good : requests) {
    for (const int64_t rate : kRates) {
      for (int i = 0; i < kCallsOfRate; ++i) {
        call(good, rate);
      }
    }
    const AnyAnswer answer =
        CallAnyMethod(channel_, method, good.make(*this), kLimit, good.max_answers);
    EXPECT_TRUE(answer.status.ok()) << answer.status.error_message();
    if (good.after_success) {
      good.after_success(*this);
    }
  }
  // Calls that ask for little may all have been spared.
  for (int i = 0; failed == 0 && i < 1000; ++i) {
    call(requests.front(), *std::rbegin(kRates));
  }
  EXPECT_GT(failed, 0);
  ExpectHealthy();
  DrainServer();
}

class JobAllocationFailure : public AllocationFailureTest {};

// Jobs fail too; what was acknowledged is there after a restart, and what had ended well has its model.
TEST_F(JobAllocationFailure, LosesNothingThatWasAcknowledged) {
  std::set<std::string> acknowledged;
  std::set<std::string> uploaded;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const FailingAllocations failing(SeldomFailures{seed, 2000});
    grpc::ClientContext context;
    v1::Job job;
    if (training_->Train(&context, MakeRequest("datasets/clouds"), &job).ok()) {
      acknowledged.insert(job.name());
    }
    v1::Dataset dataset;
    if (Upload(CloudsCsv(30, 2, seed), absl::StrCat("upload-", seed), &dataset).ok()) {
      uploaded.insert(dataset.name());
    }
  }
  EXPECT_FALSE(acknowledged.empty());
  EXPECT_FALSE(uploaded.empty());
  int succeeded = 0;
  for (const std::string& name : acknowledged) {
    succeeded += WaitForEnd(name).state() == v1::JOB_STATE_SUCCEEDED ? 1 : 0;
  }
  EXPECT_GT(succeeded, 0);
  DrainServer();
  StartServer();
  for (const std::string& name : acknowledged) {
    v1::GetJobRequest request;
    request.set_name(name);
    v1::Job job;
    Call(*training_, &v1::TrainingService::Stub::GetJob, request, &job);
    if (job.state() == v1::JOB_STATE_SUCCEEDED) {
      --succeeded;
      v1::PredictResponse response;
      Call(*prediction_, &v1::PredictionService::Stub::Predict, MakePrediction(job.model(), 3, 2),
           &response);
    }
  }
  EXPECT_EQ(succeeded, 0);
  for (const std::string& name : uploaded) {
    v1::GetDatasetRequest request;
    request.set_name(name);
    v1::Dataset dataset;
    Call(*datasets_, &v1::DatasetService::Stub::GetDataset, request, &dataset);
    EXPECT_EQ(dataset.rows(), 30);
  }
  const v1::Job job = WaitForEnd(TrainOk(MakeRequest("datasets/clouds")).name());
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED) << job.reason();
}

std::vector<std::string> AllMethods() {
  std::vector<std::string> methods;
  for (const auto& [method, requests] : GoodRequests()) {
    methods.push_back(method);
  }
  return methods;
}

INSTANTIATE_TEST_SUITE_P(Methods, CallAllocationFailure, testing::ValuesIn(AllMethods()),
                         [](const auto& parameter) {
                           return parameter.param.substr(parameter.param.find('/') + 1);
                         });

}  // namespace
}  // namespace mercer::server

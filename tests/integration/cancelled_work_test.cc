// Work whose client has gone, or whose job was cancelled, ends within a quarter of a second of processor time.
#include "tests/support/cancelled_work.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <thread>

#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;

class CancelledWorkTest : public ServerTest {
 protected:
  // A model of `rows` rows, most of which are support vectors.
  void ServeModel(int rows) {
    ServerOptions options;
    options.workers = 1;
    options.access.max_calls_per_caller = 1;  // tells when a call has ended
    StartServer(options);
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(CloudsCsv(rows, 3, 1), "clouds", &dataset).ok());
    v1::TrainRequest request = MakeRequest("datasets/clouds");
    request.clear_validation();
    request.mutable_stopping()->set_relative_gap(0.3);
    request.set_model("models/clouds");
    ASSERT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
  }
  bool HasRoom() {
    grpc::ClientContext context;
    v1::ListJobsResponse response;
    const grpc::Status status = training_->ListJobs(&context, v1::ListJobsRequest(), &response);
    EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::RESOURCE_EXHAUSTED)
        << status.error_message();
    return status.ok();
  }
  using Call = std::function<grpc::Status(grpc::ClientContext&)>;

  double WholeWork(const Call& call) {
    const double begin = ProcessorSeconds();
    grpc::ClientContext context;
    const grpc::Status status = call(context);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return ProcessorSeconds() - begin;
  }
  // `call` blocks until its context is cancelled, after so much work: that which follows the cancellation. None when it has ended before.
  std::optional<double> WorkAfterCancel(double seconds, const Call& call) {
    const double begin = ProcessorSeconds();
    grpc::ClientContext context;
    grpc::Status status;
    std::atomic<bool> ended = false;
    std::thread calling([&] {
      status = call(context);
      ended = true;
    });
    while (!ended && ProcessorSeconds() < begin + seconds) {
      absl::SleepFor(absl::Milliseconds(1));  // nobody tells how far it is
    }
    const double at_cancel = ProcessorSeconds();
    context.TryCancel();
    while (!HasRoom()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    const double after = ProcessorSeconds() - at_cancel;
    calling.join();
    if (status.ok()) {
      return std::nullopt;
    }
    EXPECT_EQ(status.error_code(), StatusCode::CANCELLED) << status.error_message();
    return after;
  }
  // Cancels it when so large parts of its work are done: how long the whole takes depends on the processor, and on what else it has to do.
  // One that has ended before is tried anew with less. The least of some attempts counts: beside other programs it can take long until the
  // server hears of a cancellation, and the call works on.
  void ExpectShortWorkAfterCancel(std::initializer_list<double> parts, const Call& call) {
    constexpr int kAttempts = 4;
    constexpr double kEndless = std::numeric_limits<double>::infinity();
    const double whole = std::min(WholeWork(call), WholeWork(call));
    for (const double part : parts) {
      std::optional<double> least;
      double seconds = part * whole;
      for (int attempt = 0; attempt < kAttempts && least.value_or(kEndless) > kMostWorkAfterCancel;
           ++attempt) {
        const std::optional<double> after = WorkAfterCancel(seconds, call);
        if (!after.has_value()) {
          seconds *= 0.6;
        } else if (!least.has_value() || *after < *least) {
          least = after;
        }
      }
      ASSERT_TRUE(least.has_value()) << "the call has always ended before it was cancelled";
      EXPECT_LE(*least, kMostWorkAfterCancel) << part << " of the work";
    }
  }
};

TEST_F(CancelledWorkTest, EvaluationWhoseClientHasGoneEnds) {
  ServeModel(2000);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(150'000, 3, 2), "many", &dataset).ok());
  v1::EvaluateModelRequest request;
  request.set_name("models/clouds");
  request.set_dataset("datasets/many");
  const auto evaluate = [&](grpc::ClientContext& context) {
    v1::EvaluateModelResponse response;
    return models_->EvaluateModel(&context, request, &response);
  };
  ExpectShortWorkAfterCancel({0.1, 0.3, 0.5}, evaluate);
}

TEST_F(CancelledWorkTest, VerificationWhoseClientHasGoneEnds) {
  ServeModel(6000);
  v1::VerifyModelRequest request;
  request.set_name("models/clouds");
  const auto verify = [&](grpc::ClientContext& context) {
    v1::VerifyModelResponse response;
    return models_->VerifyModel(&context, request, &response);
  };
  ExpectShortWorkAfterCancel({0.1, 0.3, 0.5}, verify);
}

TEST_F(CancelledWorkTest, PredictionWhoseClientHasGoneEnds) {
  ServeModel(2000);
  const v1::PredictRequest request = MakePrediction("models/clouds", 150'000, 3);
  const auto predict = [&](grpc::ClientContext& context) {
    v1::PredictResponse response;
    return prediction_->Predict(&context, request, &response);
  };
  ExpectShortWorkAfterCancel({0.4}, predict);
}

TEST_F(CancelledWorkTest, JobThatIsCancelledEnds) {
  ServerOptions options;
  options.workers = 1;
  StartServer(options);
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(8000, 10, 3), "clouds", &dataset).ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.mutable_learner()->mutable_lp_mkl()->set_c(10'000);
  request.mutable_stopping()->set_relative_gap(1e-10);
  const auto cancel_one = [&] {
    const v1::Job job = TrainOk(request);
    WaitForStart(job.name());
    const double begin = ProcessorSeconds();
    while (ProcessorSeconds() < begin + 0.3) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    grpc::ClientContext context;
    v1::CancelJobRequest cancel;
    cancel.set_name(job.name());
    v1::Job cancelling;
    EXPECT_TRUE(training_->CancelJob(&context, cancel, &cancelling).ok());
    // From when the server knows: beside other programs the job works on until the call is served.
    const double at_cancel = ProcessorSeconds();
    EXPECT_EQ(WaitForEnd(job.name()).state(), v1::JOB_STATE_CANCELLED);
    return ProcessorSeconds() - at_cancel;
  };
  EXPECT_LE(LeastWork(cancel_one), kMostWorkAfterCancel);
}

}  // namespace
}  // namespace mercer::server

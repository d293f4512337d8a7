// Who may see the metrics, and what they say after some work.
#include <limits>
#include <string>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include <gmock/gmock.h>

#include "core/learners/registry.h"
#include "tests/integration/access_fixture.h"
#include "tests/support/server/http_client.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

class HttpMetricsTest : public AccessTest {
 protected:
  HttpReply Ask(const std::string& token) const {
    HttpClient client(server_->http_port());
    return client.Get("/metrics", token.empty()
                                      ? HttpHeaders{}
                                      : HttpHeaders{{"Authorization", "Bearer " + token}});
  }
  void Cancel(const std::string& job) {
    grpc::ClientContext context;
    v1::CancelJobRequest request;
    request.set_name(job);
    v1::Job answer;
    EXPECT_TRUE(training_->CancelJob(&context, request, &answer).ok());
  }
};

TEST_F(HttpMetricsTest, AreForWhoeverMayRead) {
  AddToken("prometheus", "read");
  AddToken("robot", "predict");
  Start();
  EXPECT_EQ(Ask("").status, 401);
  EXPECT_EQ(Ask("wrong").status, 401);
  EXPECT_EQ(Ask("secret-robot").status, 403);
  const HttpReply reply = Ask("secret-prometheus");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.Find("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(reply.body, HasSubstr("mercer_build_info{version=\""));
}

TEST_F(HttpMetricsTest, AreForEverybodyWhenToldSo) {
  AddToken("prometheus", "read");
  options_.access.metrics_open = true;
  Start();
  EXPECT_EQ(Ask("").status, 200);
}

TEST_F(HttpMetricsTest, CountRefusedCallsToo) {
  AddToken("prometheus", "read");
  Start();
  EXPECT_EQ(HttpClient(server_->http_port()).Get("/v1/jobs").status, 401);
  EXPECT_THAT(
      Ask("secret-prometheus").body,
      HasSubstr(
          "mercer_calls_total{code=\"UNAUTHENTICATED\",method=\"TrainingService/ListJobs\"} 1"));
}

// The value of a series; NaN when it is not shown.
double ValueOf(const std::string& text, const std::string& series) {
  for (const auto line : absl::StrSplit(text, '\n')) {
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(line, absl::MaxSplits(' ', 1));
    double value = 0;
    if (parts.first == series && absl::SimpleAtod(parts.second, &value)) {
      return value;
    }
  }
  return std::numeric_limits<double>::quiet_NaN();
}

TEST_F(HttpMetricsTest, TellOfQueueTrainingAndModelsInMemory) {
  options_.workers = 1;
  Start();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(600, 3, 1), "clouds", &dataset).ok());
  const std::string before = Ask("").body;
  EXPECT_EQ(ValueOf(before, "mercer_queue_wait_seconds_count"), 0);
  EXPECT_EQ(ValueOf(before, "mercer_model_cache_models"), 0);
  for (const LearnerEntry* learner : AllLearners()) {
    EXPECT_EQ(
        ValueOf(before, absl::StrCat("mercer_jobs_finished_total{kind=\"training\",learner=\"",
                                     learner->name, "\",state=\"failed\"}")),
        0);
  }
  // One runs, one is cancelled while it waits, one waits for the first.
  const std::string endless = TrainOk(MakeEndlessRequest("datasets/clouds")).name();
  WaitForStart(endless);
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  const std::string waiting = TrainOk(request).name();
  const absl::Time queued = absl::Now();
  request.set_seed(2);
  const std::string unwanted = TrainOk(request).name();
  Cancel(unwanted);
  const absl::Duration least_wait = absl::Floor(absl::Now() - queued, absl::Milliseconds(1));
  Cancel(endless);
  const v1::Job trained = WaitForEnd(waiting);
  ASSERT_EQ(trained.state(), v1::JOB_STATE_SUCCEEDED);
  v1::PredictResponse predicted;
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext context;
    ASSERT_TRUE(
        prediction_->Predict(&context, MakePrediction(trained.model(), 1, 3), &predicted).ok());
  }

  const std::string text = Ask("").body;
  const auto finished = [&](const char* state) {
    return ValueOf(
        text,
        absl::StrCat("mercer_jobs_finished_total{kind=\"training\",learner=\"lp_mkl\",state=\"",
                     state, "\"}"));
  };
  EXPECT_EQ(finished("succeeded"), 1);
  EXPECT_EQ(finished("cancelled"), 2);
  EXPECT_EQ(finished("failed"), 0);
  EXPECT_EQ(ValueOf(text, "mercer_queue_wait_seconds_count"), 2);
  EXPECT_EQ(ValueOf(text, "mercer_queue_wait_seconds_bucket{le=\"+Inf\"}"), 2);
  EXPECT_GE(ValueOf(text, "mercer_queue_wait_seconds_sum"), absl::ToDoubleSeconds(least_wait));
  EXPECT_EQ(ValueOf(text, "mercer_training_seconds_count{kind=\"training\",learner=\"lp_mkl\"}"),
            2);
  EXPECT_GT(ValueOf(text, "mercer_training_seconds_sum{kind=\"training\",learner=\"lp_mkl\"}"), 0);
  EXPECT_EQ(ValueOf(text, "mercer_model_cache_models"), 1);
  EXPECT_GT(ValueOf(text, "mercer_model_cache_bytes"), 0);
  EXPECT_EQ(ValueOf(text, "mercer_model_cache_misses_total"), 1);
  EXPECT_EQ(ValueOf(text, "mercer_model_cache_hits_total"), 2);
}

}  // namespace
}  // namespace mercer::server

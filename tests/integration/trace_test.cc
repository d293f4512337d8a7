// The trace of a Train call, in its job and in what is told of the job.
#include <gmock/gmock.h>

#include "tests/integration/access_fixture.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;

constexpr char kTrace[] = "4bf92f3577b34da6a3ce929d0e0e4736";
constexpr char kOtherTrace[] = "0af7651916cd43dd8448eb211c80319c";

class TraceTest : public AccessTest {
 protected:
  v1::Job Train(const v1::TrainRequest& request, const std::string& trace) {
    grpc::ClientContext context;
    if (!trace.empty()) {
      context.AddMetadata("traceparent", absl::StrCat("00-", trace, "-00f067aa0ba902b7-01"));
    }
    v1::Job job;
    const grpc::Status status = training_->Train(&context, request, &job);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return job;
  }
  v1::Job GetJob(const std::string& name) {
    grpc::ClientContext context;
    v1::GetJobRequest request;
    request.set_name(name);
    v1::Job job;
    EXPECT_TRUE(training_->GetJob(&context, request, &job).ok());
    return job;
  }
};

TEST_F(TraceTest, TheTraceIsInTheJobItsFirstEventAndTheLinesAboutIt) {
  Start();
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(CloudsCsv(40, 2, 1), "clouds", &dataset).ok());
  v1::TrainRequest request = MakeRequest("datasets/clouds");
  request.set_request_id("r-1");
  const v1::Job job = Train(request, kTrace);
  EXPECT_EQ(job.trace_id(), kTrace);
  const v1::Job again = Train(request, kOtherTrace);
  EXPECT_EQ(again.name(), job.name());
  EXPECT_EQ(again.trace_id(), kTrace) << "of the call that made it";
  EXPECT_EQ(Train(MakeRequest("datasets/clouds"), "").trace_id(), "");
  WaitForEnd(job.name());
  std::vector<v1::ProgressEvent> events;
  ASSERT_TRUE(Stream(job.name(), 0, &events).ok());
  ASSERT_FALSE(events.empty());
  EXPECT_EQ(events.front().state_change().state(), v1::JOB_STATE_QUEUED);
  EXPECT_EQ(events.front().state_change().trace_id(), kTrace);
  EXPECT_EQ(events.back().state_change().trace_id(), "");

  const std::string log = StopAndReadLog();
  const std::string id = job.name().substr(std::string("jobs/").size());
  EXPECT_THAT(
      log, HasSubstr(absl::StrCat("job=", id, " attempt=1 trace=", kTrace, " ended: SUCCEEDED")));
  for (size_t found = log.find("job=" + id); found != std::string::npos;
       found = log.find("job=" + id, found + 1)) {
    const std::string line = log.substr(found, log.find('\n', found) - found);
    EXPECT_THAT(line, HasSubstr(absl::StrCat("trace=", kTrace)));
  }
  Start();
  EXPECT_EQ(GetJob(job.name()).trace_id(), kTrace) << "in a later process";
}

}  // namespace
}  // namespace mercer::server

#include "server/translation/job_translator.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "google/rpc/error_details.pb.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/times.h"

namespace mercer::server {
namespace {

v1::StateChange ChangeFor(const std::string& message) {
  JobEvent event;
  event.state = JobState::kQueued;
  event.message = message;
  return WriteEvent(event).state_change();
}

std::string ReasonFor(const std::string& message) { return ChangeFor(message).reason(); }

TEST(JobTranslatorTest, ReasonOfAStateChangeIsAWordOrNothing) {
  EXPECT_EQ(ReasonFor("WORKER_LOST"), "WORKER_LOST");
  EXPECT_EQ(ReasonFor("NOT_PSD2"), "NOT_PSD2");
  EXPECT_EQ(ReasonFor(""), "");
  // What earlier versions have stored.
  EXPECT_EQ(ReasonFor("the server is shutting down"), "");
  EXPECT_EQ(ReasonFor("pivot 0x7f is not finite"), "");
}

TEST(JobTranslatorTest, ReasonsHaveTheirNumbersBesideThem) {
  EXPECT_EQ(ChangeFor("WORKER_LOST").reason_code(), v1::REASON_WORKER_LOST);
  EXPECT_EQ(ChangeFor("OF_A_LATER_VERSION").reason_code(), v1::REASON_UNSPECIFIED);
  JobRecord record;
  record.state = JobState::kFailed;
  record.request = EncodeTrainRequest(v1::TrainRequest());
  record.error = EncodeError(WithReason(absl::InvalidArgumentError("one class"), "ONE_CLASS"));
  AttemptRecord attempt;
  attempt.reason = AttemptReason::kFailed;
  EXPECT_EQ(WriteJob(record, {attempt})->reason_code(), v1::REASON_ONE_CLASS);
  EXPECT_EQ(WriteJob(record, {attempt})->attempts(0).end_reason_code(), v1::REASON_FAILED);
  // As the error itself says.
  record.error = EncodeError(absl::InternalError("who knows"));
  const v1::Job job = *WriteJob(record, {});
  google::rpc::ErrorInfo info;
  ASSERT_TRUE(job.error().details(0).UnpackTo(&info));
  EXPECT_EQ(info.reason(), "INTERNAL");
  EXPECT_EQ(job.reason(), "INTERNAL");
  EXPECT_EQ(job.reason_code(), v1::REASON_INTERNAL);
}

// Of a job that failed, with what its learner calls the fields.
TEST(JobTranslatorTest, ErrorsNameTheFieldsOfTheRequestThatIsKept) {
  FieldViolations violations;
  violations.Add("C", "is too large");
  JobRecord record;
  record.state = JobState::kFailed;
  record.learner = "svm";
  record.error = EncodeError(violations.ToStatus());
  v1::TrainRequest request;
  for (const std::string path : {"learner.svm.C", "learner.other.options['C']"}) {
    if (path == "learner.svm.C") {
      request.mutable_learner()->mutable_svm();
    } else {
      request.mutable_learner()->mutable_other()->set_name("svm");
    }
    record.request = EncodeTrainRequest(request);
    v1::ProgressEvent event;
    CompleteTerminalEvent(record, &event);
    for (const google::rpc::Status& error :
         {event.state_change().error(), WriteJob(record, {})->error()}) {
      google::rpc::BadRequest told;
      for (const google::protobuf::Any& detail : error.details()) {
        detail.UnpackTo(&told);
      }
      ASSERT_EQ(told.field_violations_size(), 1);
      EXPECT_EQ(told.field_violations(0).field(), path);
    }
  }
}

// A row that lacks a time has an infinite one.
TEST(JobTranslatorTest, InfiniteTimesAreTold) {
  google::protobuf::Timestamp timestamp;
  SetTimestamp(absl::InfinitePast(), &timestamp);
  EXPECT_EQ(timestamp.seconds(), -9'223'372'036'855);
  EXPECT_EQ(timestamp.nanos(), 224'192'000);
  SetTimestamp(absl::InfiniteFuture(), &timestamp);
  EXPECT_EQ(timestamp.seconds(), 9'223'372'036'854);
  EXPECT_EQ(timestamp.nanos(), 775'807'000);
  SetTimestamp(absl::FromUnixMicros(-1), &timestamp);
  EXPECT_EQ(timestamp.seconds(), -1);
  EXPECT_EQ(timestamp.nanos(), 999'999'000);
}

}  // namespace
}  // namespace mercer::server

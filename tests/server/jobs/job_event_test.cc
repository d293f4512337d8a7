#include "server/jobs/record/job_event.h"

#include <limits>
#include <optional>

#include "absl/strings/cord.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

JobEvent MakeProgress() {
  JobEvent event;
  event.kind = JobEventKind::kProgress;
  event.state = JobState::kRunning;
  event.phase = "fold 2 of 5";
  event.report.stage = "solve";
  event.report.fraction = 0.25;
  event.report.primal = std::numeric_limits<double>::infinity();
  event.report.dual = -1.5;
  event.report.accuracy = 1e-4;
  event.report.active_kernels = 7;
  event.report.support_vectors = 99;
  event.report.inner_iterations = 12345;
  event.report.has_model = true;
  event.report.stop = StopReason::kTimeLimit;
  event.elapsed_seconds = 3.5;
  return event;
}

TEST(JobEventTest, EveryFieldRoundTrips) {
  const JobEvent event = MakeProgress();
  const auto read = DecodeJobEvent({17, 2, 40, absl::FromUnixSeconds(5), EncodeJobEvent(event)});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->sequence, 17);
  EXPECT_EQ(read->attempt, 2);
  EXPECT_EQ(read->iteration, 40);
  EXPECT_EQ(read->time, absl::FromUnixSeconds(5));
  EXPECT_EQ(read->kind, JobEventKind::kProgress);
  EXPECT_EQ(read->state, JobState::kRunning);
  EXPECT_EQ(read->phase, event.phase);
  EXPECT_EQ(read->report.stage, "solve");
  EXPECT_EQ(read->report.fraction, 0.25);
  EXPECT_EQ(read->report.primal, event.report.primal);
  EXPECT_EQ(read->report.dual, -1.5);
  EXPECT_EQ(read->report.accuracy, 1e-4);
  EXPECT_EQ(read->report.active_kernels, 7);
  EXPECT_EQ(read->report.support_vectors, 99);
  EXPECT_EQ(read->report.inner_iterations, 12345);
  EXPECT_TRUE(read->report.has_model);
  EXPECT_EQ(read->report.stop, StopReason::kTimeLimit);
  EXPECT_EQ(read->elapsed_seconds, 3.5);
  EXPECT_EQ(read->report.stage_fraction, std::nullopt);
  EXPECT_FALSE(read->is_terminal());
}

TEST(JobEventTest, GroupsRoundTripWithAndWithoutTheShareOfAStage) {
  JobEvent event = MakeProgress();
  event.report.active_groups = 3;
  for (const std::optional<double> share : {std::optional<double>(), std::optional(0.25)}) {
    event.report.stage_fraction = share;
    const auto read = DecodeJobEvent({17, 2, 40, absl::FromUnixSeconds(5), EncodeJobEvent(event)});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->report.active_groups, 3);
    EXPECT_EQ(read->report.stage_fraction, share);
  }
}

TEST(JobEventTest, TheShareOfAStageRoundTrips) {
  JobEvent event = MakeProgress();
  const std::string without = EncodeJobEvent(event);
  event.report.stage_fraction = 0.42;
  const std::string with = EncodeJobEvent(event);
  EXPECT_EQ(with.substr(1, without.size() - 1), without.substr(1))
      << "as it was before, and the share";
  const auto read = DecodeJobEvent({17, 2, 40, absl::FromUnixSeconds(5), with});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->report.stage_fraction, 0.42);
  EXPECT_EQ(read->elapsed_seconds, 3.5);
  EXPECT_FALSE(DecodeJobEvent({1, 1, 1, absl::UnixEpoch(), with.substr(0, with.size() - 1)}).ok());
}

TEST(JobEventTest, TheFirstEventTellsTheTrace) {
  const EventDraft draft = QueuedEvent("4bf92f3577b34da6a3ce929d0e0e4736");
  const auto read = DecodeJobEvent({1, 0, 0, absl::FromUnixSeconds(5), draft.payload});
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kind, JobEventKind::kState);
  EXPECT_EQ(read->state, JobState::kQueued);
  EXPECT_EQ(read->trace_id, "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(QueuedEvent("").payload, StateEvent(JobState::kQueued).payload)
      << "as it was before there were traces";
}

TEST(JobEventTest, FinalStatesAreTerminal) {
  for (const JobState state :
       {JobState::kQueued, JobState::kRunning, JobState::kCancelling, JobState::kVerifying,
        JobState::kSucceeded, JobState::kFailed, JobState::kCancelled}) {
    const auto read =
        DecodeJobEvent({1, 0, 0, absl::UnixEpoch(), StateEvent(state, "why").payload});
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->state, state);
    EXPECT_EQ(read->message, "why");
    EXPECT_EQ(read->is_terminal(), state >= JobState::kSucceeded);
  }
}

TEST(JobEventTest, CutOffOrForeignBytesAreDataLoss) {
  const std::string bytes = EncodeJobEvent(MakeProgress());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(DecodeJobEvent({1, 1, 1, absl::UnixEpoch(), bytes.substr(0, size)}).status().code(),
              absl::StatusCode::kDataLoss)
        << size;
  }
  std::string unknown_kind = bytes;
  unknown_kind[1] = 77;
  EXPECT_FALSE(DecodeJobEvent({1, 1, 1, absl::UnixEpoch(), unknown_kind}).ok());
  EXPECT_FALSE(DecodeJobEvent({1, 1, 1, absl::UnixEpoch(), bytes + "x"}).ok());
}

TEST(JobEventTest, ErrorKeepsCodeMessageAndDetails) {
  FieldViolations violations;
  violations.Add("kernels[3].bandwidth", "must be > 0, is -1");
  const absl::Status status = violations.ToStatus();
  const absl::Status read = DecodeError(EncodeError(status));
  EXPECT_EQ(read, status);
  EXPECT_EQ(GetReason(read), GetReason(status));
  EXPECT_EQ(GetFieldViolations(read), violations.violations());
}

}  // namespace
}  // namespace mercer::server

#include "server/app/server_metrics.h"

#include <sstream>

#include <gmock/gmock.h>
#include <prometheus/text_serializer.h>

#include "core/training/contract/learner.h"

namespace mercer::server {
namespace {

using testing::HasSubstr;
using testing::Not;

class ServerMetricsTest : public testing::Test {
 protected:
  static LearnerEntry Svm() {
    LearnerEntry entry;
    entry.name = "svm";
    return entry;
  }
  // As Prometheus gets it.
  std::string Text() const {
    std::ostringstream text;
    prometheus::TextSerializer().Serialize(text, metrics_.Counted());
    return text.str();
  }
  static JobRecord JobThatWaited(absl::Duration wait) {
    JobRecord job;
    job.learner = "svm";
    job.attempt = 1;
    job.state = JobState::kRunning;
    job.create_time = absl::FromUnixSeconds(1'700'000'000);
    job.start_time = job.create_time + wait;
    return job;
  }

  const LearnerEntry entry_ = Svm();
  ServerMetrics metrics_{{&entry_}};
};

// Else Prometheus misses the first of them: what appears with the value 1 has not increased.
TEST_F(ServerMetricsTest, EverySeriesIsThereFromTheStart) {
  for (const char* line :
       {"mercer_jobs_finished_total{kind=\"training\",learner=\"svm\",state=\"succeeded\"} 0\n",
        "mercer_jobs_finished_total{kind=\"training\",learner=\"svm\",state=\"failed\"} 0\n",
        "mercer_jobs_finished_total{kind=\"training\",learner=\"svm\",state=\"cancelled\"} 0\n",
        "mercer_training_seconds_count{kind=\"training\",learner=\"svm\"} 0\n",
        "mercer_jobs_finished_total{kind=\"prediction\",state=\"failed\"} 0\n",
        "mercer_training_seconds_count{kind=\"evaluation\"} 0\n",
        "mercer_training_seconds_count{kind=\"verification\"} 0\n",
        "mercer_queue_wait_seconds_count 0\n"}) {
    EXPECT_THAT(Text(), HasSubstr(line));
  }
  EXPECT_THAT(Text(), Not(HasSubstr("other")));
}

TEST_F(ServerMetricsTest, WaitIsThatBeforeTheFirstAttempt) {
  JobRecord job = JobThatWaited(absl::Seconds(3));
  metrics_.OnClaimed(job);
  job.attempt = 2;
  metrics_.OnClaimed(job);
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_count 1\n"));
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_sum 3\n"));
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_bucket{le=\"1\"} 0\n"));
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_bucket{le=\"5\"} 1\n"));
}

TEST_F(ServerMetricsTest, ClockThatWasSetBackMakesNoNegativeWait) {
  metrics_.OnClaimed(JobThatWaited(absl::Seconds(-3600)));
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_count 1\n"));
  EXPECT_THAT(Text(), HasSubstr("mercer_queue_wait_seconds_sum 0\n"));
}

TEST_F(ServerMetricsTest, LearnersThatAreUnknownShareOneLabel) {
  JobRecord job = JobThatWaited(absl::ZeroDuration());
  job.state = JobState::kFailed;
  for (int i = 0; i < 3; ++i) {
    job.learner = "of_another_version_" + std::to_string(i);
    metrics_.OnEnded(job);
    metrics_.OnWorked(job, absl::Seconds(2));
  }
  EXPECT_THAT(
      Text(),
      HasSubstr(
          "mercer_jobs_finished_total{kind=\"training\",learner=\"other\",state=\"failed\"} 3\n"));
  EXPECT_THAT(Text(),
              HasSubstr("mercer_training_seconds_sum{kind=\"training\",learner=\"other\"} 6\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("of_another_version")));
}

TEST_F(ServerMetricsTest, OtherKindsOfJobsHaveNoLearner) {
  JobRecord job = JobThatWaited(absl::ZeroDuration());
  job.kind = JobKind::kPrediction;
  job.learner = "";
  job.state = JobState::kFailed;
  metrics_.OnEnded(job);
  metrics_.OnWorked(job, absl::Seconds(2));
  EXPECT_THAT(Text(),
              HasSubstr("mercer_jobs_finished_total{kind=\"prediction\",state=\"failed\"} 1\n"));
  EXPECT_THAT(Text(), HasSubstr("mercer_training_seconds_sum{kind=\"prediction\"} 2\n"));
  EXPECT_THAT(Text(), Not(HasSubstr("other")));
}

}  // namespace
}  // namespace mercer::server

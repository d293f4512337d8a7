// Predictions of data sets, evaluations and verifications as jobs that are interrupted or limited in time.
#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"
#include "tests/server/api/registry_fixture.h"
#include "tests/server/jobs/fake_clock.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Interrupts the first attempt when it writes that block of rows, or else when it ends the file.
class InterruptingWriter final : public BlobWriter {
 public:
  InterruptingWriter(std::unique_ptr<BlobWriter> inner, AttemptFrame& frame,
                     AttemptInterruptionKind kind, int block)
      : inner_(std::move(inner)), frame_(frame), kind_(kind), block_(block) {}

  absl::Status Append(std::string_view bytes) override {
    blocks_ += bytes.size() > size_t{4096} ? 1 : 0;
    Interrupt(blocks_ == block_);
    return inner_->Append(bytes);
  }
  int64_t size() const override { return inner_->size(); }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map() const override { return inner_->Map(); }
  absl::StatusOr<PinnedBlob> Commit() override {
    Interrupt(true);
    return inner_->Commit();
  }

 private:
  void Interrupt(bool now) {
    if (now && frame_.job().attempt == 1) {
      frame_.interruption()->Request(kind_);
    }
  }

  const std::unique_ptr<BlobWriter> inner_;
  AttemptFrame& frame_;
  const AttemptInterruptionKind kind_;
  const int block_;
  int blocks_ = 0;
};

// Its jobs write a checkpoint after their first block of rows; "datasets/large" has several blocks.
class ModelJobAttemptsTest : public RegistryTest {
 protected:
  void SetUp() override {
    ServeClouds(1);
    StoreCsv("large", CloudsCsv(20'000), "");
    jobs_.reset();
    job_options_.checkpoint_interval = absl::ZeroDuration();
    job_options_.lease_duration = absl::Seconds(2);
    before_work_ = [this](AttemptFrame& frame) {
      files_ = 0;
      frame_ = &frame;
      before_attempt_(frame);
    };
    blobs_->before_new_blob = [this] {
      before_file_(++files_);
      return absl::OkStatus();
    };
    StartJobs();
  }
  void StartPrediction() {
    v1::PredictDatasetRequest request;
    request.set_model("models/clouds");
    request.set_dataset("datasets/large");
    grpc::ClientContext context;
    const grpc::Status status = prediction_->PredictDataset(&context, request, &job_);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }
  void StartEvaluation() {
    v1::EvaluateModelRequest request;
    request.set_name("models/clouds");
    request.set_dataset("datasets/large");
    ASSERT_TRUE(Call(&v1::ModelService::Stub::StartEvaluation, request, &job_).ok());
  }
  // Waits for the end of the job; job_ is as it is then.
  void Finish() {
    do {
      jobs_->WaitUntilIdle();
      absl::SleepFor(absl::Milliseconds(5));
      grpc::ClientContext context;
      v1::GetJobRequest request;
      request.set_name(job_.name());
      ASSERT_TRUE(training_->GetJob(&context, request, &job_).ok());
    } while (!job_.has_end_time());
  }
  std::string JobId() const { return job_.name().substr(std::string("jobs/").size()); }
  std::vector<JobEvent> Events() {
    std::vector<JobEvent> events;
    const auto records = real_storage_->events().Read(JobId(), 0, 100'000);
    EXPECT_TRUE(records.ok()) << records.status();
    for (const EventRecord& record : *records) {
      events.push_back(*DecodeJobEvent(record));
    }
    return events;
  }
  std::vector<std::string> AttemptEnds() const {
    std::vector<std::string> ends;
    for (const v1::Attempt& attempt : job_.attempts()) {
      ends.push_back(attempt.end_reason());
    }
    return ends;
  }
  // Interrupts the first attempt when it ends its file number `file`, or before at that block of rows.
  void InterruptAtFile(int file, AttemptInterruptionKind kind, int block = -1) {
    blobs_->hook_writer = [this, file, kind, block](
                              std::unique_ptr<BlobWriter> writer) -> std::unique_ptr<BlobWriter> {
      return files_ != file
                 ? std::move(writer)
                 : std::make_unique<InterruptingWriter>(std::move(writer), *frame_, kind, block);
    };
  }
  void InterruptNothing() {
    blobs_->hook_writer = [](std::unique_ptr<BlobWriter> writer) { return writer; };
  }
  // What the finished job has come to.
  std::string Result() {
    EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
    if (job_.has_evaluation()) {
      return job_.evaluation().SerializeAsString();
    }
    const std::string& name = job_.prediction().dataset();
    const auto record =
        real_storage_->datasets().GetDataset(name.substr(std::string("datasets/").size()));
    EXPECT_TRUE(record.ok()) << record.status();
    return record.ok() ? record->blob : "";
  }
  // The second attempt went on behind the first block: none of its rows were computed again.
  void ExpectGoneOn() {
    bool resumed = false;
    double least = 1;
    for (const JobEvent& event : Events()) {
      resumed = resumed || event.kind == JobEventKind::kResumed;
      if (event.kind == JobEventKind::kResumed) {
        EXPECT_EQ(event.iteration, 1);
      } else if (event.kind == JobEventKind::kProgress && resumed) {
        EXPECT_GE(event.iteration, 2);
        least = std::min(least, event.report.fraction);
      }
    }
    EXPECT_TRUE(resumed);
    EXPECT_GT(least, 4096.0 / 20'000);
    EXPECT_LT(least, 1);  // each block is told
  }
  // The first attempt at a job that `start` makes is interrupted when it ends its file number `file`, a checkpoint.
  template <typename Start>
  void ExpectSameResult(const Start& start, int file) {
    start();
    Finish();
    const std::string expected = Result();
    for (const AttemptInterruptionKind kind :
         {AttemptInterruptionKind::kDrain, AttemptInterruptionKind::kAbandon}) {
      InterruptAtFile(file, kind);
      start();
      Finish();
      EXPECT_EQ(Result(), expected);
      const bool drained = kind == AttemptInterruptionKind::kDrain;
      EXPECT_THAT(AttemptEnds(), ElementsAre(drained ? "DRAINED" : "WORKER_LOST", "SUCCEEDED"));
      ExpectGoneOn();
    }
    EXPECT_FALSE((*real_storage_->jobs().GetCheckpoint(JobId())).has_value());
  }

  std::function<void(AttemptFrame&)> before_attempt_ = [](AttemptFrame&) {};
  std::function<void(int)> before_file_ = [](int) {};
  std::atomic<int> files_{0};  // that the attempt has begun to write
  AttemptFrame* frame_ = nullptr;
  v1::Job job_;
};

TEST_F(ModelJobAttemptsTest, EvaluationGoesOnBehindItsRows) {
  ExpectSameResult([this] { StartEvaluation(); }, 1);
}

TEST_F(ModelJobAttemptsTest, PredictionGoesOnBehindItsRows) {
  ExpectSameResult([this] { StartPrediction(); }, 2);  // the first is the new data set
}

// However long the interval is: in the midst of the rows, and when the whole file is there and looked through.
TEST_F(ModelJobAttemptsTest, DrainKeepsTheRowsThatAreDone) {
  jobs_.reset();
  job_options_.checkpoint_interval = absl::Hours(1);
  StartJobs();
  StartPrediction();
  Finish();
  const std::string expected = Result();
  for (const int block : {2, 6}) {
    SCOPED_TRACE(block);
    InterruptAtFile(1, AttemptInterruptionKind::kDrain, block);
    StartPrediction();
    Finish();
    EXPECT_EQ(Result(), expected);
    EXPECT_THAT(AttemptEnds(), ElementsAre("DRAINED", "SUCCEEDED"));
    const std::vector<JobEvent> told = Events();
    const auto resumed = std::find_if(told.begin(), told.end(), [](const JobEvent& event) {
      return event.kind == JobEventKind::kResumed;
    });
    ASSERT_NE(resumed, told.end());
    EXPECT_EQ(resumed->iteration, std::min(block, 5));  // of five blocks
  }
}

TEST_F(ModelJobAttemptsTest, CheckpointOfSomethingElseIsNotUsed) {
  for (const bool predicts : {false, true}) {
    InterruptAtFile(predicts ? 2 : 1, AttemptInterruptionKind::kDrain);
    before_attempt_ = [this](AttemptFrame& frame) {
      if (frame.job().attempt == 2) {
        auto blob = real_blobs_->Put("of another kind");
        ASSERT_TRUE(blob.ok());
        const NewCheckpoint other{1, job_options_.code_version, blob->digest(), absl::Now()};
        ASSERT_TRUE(real_storage_->jobs().SaveCheckpoint(frame.lease(), other).ok());
      }
    };
    predicts ? StartPrediction() : StartEvaluation();
    Finish();
    const std::string result = Result();
    ASSERT_EQ(job_.attempts_size(), 2);
    const std::vector<JobEvent> told = Events();
    std::vector<int64_t> begins;
    for (const JobEvent& event : told) {
      if (event.kind == JobEventKind::kResumed) {
        begins.push_back(event.iteration);
      }
    }
    EXPECT_THAT(begins, ElementsAre(0)) << "of the second attempt, and not of the checkpoint";
    InterruptNothing();
    predicts ? StartPrediction() : StartEvaluation();
    Finish();
    EXPECT_EQ(Result(), result);
  }
}

TEST_F(ModelJobAttemptsTest, StopOfADrainedPredictionLeavesNothing) {
  const auto files = *real_blobs_->List();
  std::atomic<bool> begun{false};
  before_file_ = [&](int file) {
    begun = begun || file == 2;
    while (file == 2 && !frame_->token().cancelled()) {
      absl::SleepFor(absl::Milliseconds(1));
    }
  };
  StartPrediction();
  while (!begun) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  jobs_->Drain();
  EXPECT_TRUE((*real_storage_->jobs().GetCheckpoint(JobId())).has_value());
  jobs_.reset();
  StartJobs(false);
  const auto stopped = jobs_->Stop(JobId());
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->state, JobState::kCancelled);
  EXPECT_EQ(*real_blobs_->List(), files);
}

TEST_F(ModelJobAttemptsTest, LimitOfTimeEndsEveryKind) {
  v1::PredictDatasetRequest predict;
  predict.set_model("models/clouds");
  predict.set_dataset("datasets/large");
  predict.mutable_time_limit()->set_nanos(1);
  grpc::ClientContext context;
  ASSERT_TRUE(prediction_->PredictDataset(&context, predict, &job_).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason(), "TIME_LIMIT_EXCEEDED");
  EXPECT_EQ(job_.reason_code(), v1::REASON_TIME_LIMIT_EXCEEDED);

  v1::EvaluateModelRequest evaluate;
  evaluate.set_name("models/clouds");
  evaluate.set_dataset("datasets/large");
  evaluate.mutable_time_limit()->set_nanos(1);
  evaluate.set_display_name("how good it is");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartEvaluation, evaluate, &job_).ok());
  EXPECT_EQ(job_.display_name(), "how good it is");
  Finish();
  EXPECT_EQ(job_.reason(), "TIME_LIMIT_EXCEEDED");
  EXPECT_EQ(job_.display_name(), "how good it is");
  const grpc::Status evaluated =
      Call(&v1::ModelService::Stub::EvaluateModel, evaluate, &evaluation_);
  EXPECT_EQ(ReasonOf(evaluated), "TIME_LIMIT_EXCEEDED");
  EXPECT_EQ(MetadataOf(evaluated, "time_limit"), "1ns");

  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  verify.mutable_time_limit()->set_nanos(1);
  verify.set_display_name("whether it holds");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).ok());
  EXPECT_EQ(job_.display_name(), "whether it holds");
  Finish();
  EXPECT_EQ(job_.reason(), "TIME_LIMIT_EXCEEDED");
  EXPECT_EQ(ReasonOf(Call(&v1::ModelService::Stub::VerifyModel, verify, &verification_)),
            "TIME_LIMIT_EXCEEDED");
}

TEST_F(ModelJobAttemptsTest, LimitOfTimeEndsAVerificationInTheMidstOfItsWork) {
  LearnerEntry held = *FindLearner("lp_mkl");
  held.verify = [](const OptionValues&, const TrainingProblem&, const Witness&,
                   RunContext& context) -> absl::StatusOr<Verification> {
    for (int i = 0; i < 60'000 && !context.cancelled(); ++i) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    return absl::InternalError("it had no end");
  };
  jobs_.reset();
  find_learner_ = [&](std::string_view name) { return name == held.name ? &held : nullptr; };
  StartJobs();
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  verify.mutable_time_limit()->set_seconds(1);
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_FAILED);
  EXPECT_EQ(job_.reason(), "TIME_LIMIT_EXCEEDED");
  EXPECT_THAT(job_.error().message(), HasSubstr("1s"));
  jobs_.reset();  // which looks at `held`
}

TEST_F(ModelJobAttemptsTest, TimeOfTheAttemptsThatACheckpointComesFromCounts) {
  FakeClock clock;
  jobs_.reset();
  job_clock_ = &clock;
  StartJobs();
  for (const int64_t seconds : {4, 6}) {  // of each attempt
    before_file_ = [&](int file) {
      if (file == 1) {  // the checkpoint
        clock.Advance(absl::Seconds(seconds));
        if (frame_->job().attempt == 1) {
          frame_->interruption()->Request(AttemptInterruptionKind::kDrain);
        }
      }
    };
    v1::EvaluateModelRequest request;
    request.set_name("models/clouds");
    request.set_dataset("datasets/large");
    request.mutable_time_limit()->set_seconds(10);
    ASSERT_TRUE(Call(&v1::ModelService::Stub::StartEvaluation, request, &job_).ok());
    Finish();
    EXPECT_EQ(job_.attempts_size(), 2);
    EXPECT_EQ(job_.reason(), seconds == 4 ? "" : "TIME_LIMIT_EXCEEDED");
  }
  jobs_.reset();
}

TEST_F(ModelJobAttemptsTest, LimitsAndNamesAreChecked) {
  v1::PredictDatasetRequest predict;
  predict.set_model("models/clouds");
  predict.set_dataset("datasets/large");
  predict.mutable_time_limit();
  grpc::ClientContext context;
  grpc::Status status = prediction_->PredictDataset(&context, predict, &job_);
  EXPECT_EQ(status.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), HasSubstr("time_limit: must be > 0"));
  v1::EvaluateModelRequest evaluate;
  evaluate.set_name("models/clouds");
  evaluate.set_dataset("datasets/large");
  evaluate.mutable_time_limit()->set_nanos(2'000'000'000);
  evaluate.set_display_name(std::string(201, 'x'));
  v1::VerifyModelRequest verify;
  verify.set_name("models/clouds");
  verify.mutable_time_limit()->set_seconds(-1);
  verify.set_display_name(std::string(201, 'x'));
  for (const grpc::Status& refused :
       {Call(&v1::ModelService::Stub::StartEvaluation, evaluate, &job_),
        Call(&v1::ModelService::Stub::EvaluateModel, evaluate, &evaluation_),
        Call(&v1::ModelService::Stub::StartVerification, verify, &job_),
        Call(&v1::ModelService::Stub::VerifyModel, verify, &verification_)}) {
    EXPECT_EQ(refused.error_code(), StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), HasSubstr("time_limit"));
    EXPECT_THAT(refused.error_message(), HasSubstr("display_name"));
  }
}

TEST_F(ModelJobAttemptsTest, VerificationTellsWhichOutputsAreDone) {
  std::string csv = "x1,x2,label\n";
  for (int row = 0; row < 30; ++row) {
    csv += std::to_string(row % 3 * 4 + row % 2) + "," + std::to_string(row % 5) + "," +
           std::string(1, static_cast<char>('a' + row % 3)) + "\n";
  }
  StoreCsv("three", csv, "");
  TrainOn("three", "models/three");
  v1::VerifyModelRequest verify;
  verify.set_name("models/three");
  ASSERT_TRUE(Call(&v1::ModelService::Stub::StartVerification, verify, &job_).ok());
  Finish();
  EXPECT_EQ(job_.state(), v1::JOB_STATE_SUCCEEDED) << job_.error().message();
  const std::vector<JobEvent> told = Events();
  EXPECT_TRUE(std::any_of(told.begin(), told.end(), [](const JobEvent& event) {
    return event.kind == JobEventKind::kProgress && event.phase == "verify" &&
           event.report.stage == "outputs" && event.report.fraction > 0;
  }));
}

}  // namespace
}  // namespace mercer::server

// A whole job system over real files.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include <gtest/gtest.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/ostream_sink.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/blobs/blob_store.h"
#include "server/jobs/executor.h"
#include "server/jobs/job_manager.h"
#include "server/jobs/record/job_event.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/watching/progress_hub.h"
#include "server/watching/watched_storage.h"
#include "tests/server/jobs/chaotic_learner.h"
#include "tests/server/jobs/failing_storage.h"
#include "tests/server/jobs/fake_clock.h"
#include "tests/support/server/real_file_system.h"

namespace mercer::server {

// Requests are "steps dataset", or "steps dataset seconds" with a limit of time.
class TextPlanner final : public JobPlanner {
 public:
  // So many calls, from now on, find no memory.
  mutable std::atomic<int> plans_without_memory{0};
  mutable std::atomic<int> summaries_without_memory{0};

  mutable std::atomic<int> plans{0};  // so many calls of Plan there were

  absl::StatusOr<JobPlan> Plan(std::string_view request) const override {
    ++plans;
    RunOutOfMemory(plans_without_memory);
    const std::vector<std::string> words = absl::StrSplit(std::string(request), ' ');
    JobPlan plan;
    double seconds = std::numeric_limits<double>::infinity();
    const bool limited = words.size() == 3 && absl::SimpleAtod(words[2], &seconds);
    if ((words.size() != 2 && !limited) || !absl::SimpleAtoi(words[0], &plan.recipe.seed)) {
      return absl::InvalidArgumentError("a request is 'steps dataset seconds'");
    }
    plan.recipe.limits.max_time = absl::Seconds(seconds);
    plan.recipe.learner = "chaotic";
    plan.dataset_ids = {words[1]};
    return plan;
  }
  absl::StatusOr<CompleteRequest> Complete(std::string_view request, const JobPlan& plan,
                                           const Dataset&, const RunContext&) const override {
    return CompleteRequest{std::string(request), plan};
  }
  std::string SummarizeModel(const VersionContext& context, const Model& model) const override {
    RunOutOfMemory(summaries_without_memory);
    return absl::StrCat(context.job->id, " ", model.learner, " ", context.datasets.at(0).id);
  }

 private:
  static void RunOutOfMemory(std::atomic<int>& countdown) {
    if (countdown > 0) {
      --countdown;
      throw std::bad_alloc();
    }
  }
};

// Fails every creation of a file while it is told to, and so many readings of the file of one blob. Knows which threads
// create files.
class FullFileSystem final : public RealFileSystem {
 public:
  std::atomic<bool> full{false};

  // Waits until so many files were refused.
  void WaitUntilRefused(int files) {
    const auto refused = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return refused_ >= files; };
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(&refused));
  }
  void FailReadings(const std::string& blob, int times) {
    absl::MutexLock lock(&mutex_);
    unreadable_ = blob;
    failing_readings_ = times;
  }

  std::set<pid_t> creators() {
    absl::MutexLock lock(&mutex_);
    return creators_;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    {
      absl::MutexLock lock(&mutex_);
      creators_.insert(gettid());
    }
    if (full) {
      absl::MutexLock lock(&mutex_);
      ++refused_;
      return WithReason(absl::ResourceExhaustedError("No space left on device"), "DISK_FULL");
    }
    return PosixFileSystem().Create(path);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    {
      absl::MutexLock lock(&mutex_);
      if (failing_readings_ > 0 && path.ends_with(unreadable_)) {
        --failing_readings_;
        ++refused_;
        return absl::InternalError("Too many open files");
      }
    }
    return PosixFileSystem().Map(path);
  }

 private:
  absl::Mutex mutex_;
  std::set<pid_t> creators_ ABSL_GUARDED_BY(mutex_);
  int refused_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string unreadable_ ABSL_GUARDED_BY(mutex_);
  int failing_readings_ ABSL_GUARDED_BY(mutex_) = 0;
};

class JobManagerFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::replace(test.begin(), test.end(), '/', '-');
    folder_ =
        std::filesystem::temp_directory_path() / absl::StrCat("mercer-jobs-", getpid(), "-", test);
    std::filesystem::create_directories(folder_);
    options_.host = "host-1";
    options_.code_version = "v1";
    options_.housekeeping_thread = false;
    options_.quiet_start = absl::ZeroDuration();
    options_.checkpoint_interval = absl::ZeroDuration();  // after every step
    OpenStores();
    AddDataset("data", 13);
  }
  void TearDown() override {
    control_.AllowAll();
    CloseAll();
    std::filesystem::remove_all(folder_);
  }

  virtual absl::StatusOr<std::unique_ptr<Storage>> OpenStorage() {
    SqliteOptions options;
    options.folder = folder_;
    options.clock = [this] { return clock_.Now(); };
    return OpenSqliteStorage(options);
  }
  void OpenStores() {
    auto storage = OpenStorage();
    ASSERT_TRUE(storage.ok()) << storage.status();
    auto watched = std::make_unique<WatchedStorage>(
        std::make_unique<FailingStorage>(*std::move(storage), &failures_));
    hub_ = std::make_unique<ProgressHub>(watched.get(), &executor_);
    storage_ = std::move(watched);
    auto blobs = OpenBlobStore(folder_ + "/blobs", files_);
    ASSERT_TRUE(blobs.ok()) << blobs.status();
    blobs_ = *std::move(blobs);
    auto notes = CrashNotes::Open(folder_ + "/crashes");
    ASSERT_TRUE(notes.ok()) << notes.status();
    crash_notes_ = *std::move(notes);
  }
  void CloseAll() {
    manager_.reset();
    hub_.reset();
    crash_notes_.reset();
    blobs_.reset();
    storage_.reset();
  }
  void StartManager(Clock* clock = nullptr) {
    JobManagerDependencies dependencies;
    dependencies.storage = storage_.get();
    dependencies.blobs = blobs_.get();
    dependencies.planner = &planner_;
    dependencies.find_learner = [this](std::string_view name) {
      return name == entry_.name ? &entry_ : nullptr;
    };
    dependencies.clock = clock != nullptr ? clock : &clock_;
    dependencies.reserve = reserve_.get();
    dependencies.crash_notes = crash_notes_.get();
    dependencies.observer = job_observer_;
    dependencies.log = log_;
    dependencies.other_works = other_works_;
    manager_ = std::make_unique<JobManager>(options_, dependencies);
    const absl::Status recovered = manager_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered;
    const absl::Status started = manager_->StartWorkers();
    ASSERT_TRUE(started.ok()) << started;
  }
  // As after a crash: nothing is told to the storage. (The process' memory is gone with the
  // manager.)
  void CrashAndRestart() {
    CloseAll();
    OpenStores();
    StartManager();
  }

  void AddDataset(const std::string& id, double last_value) {
    Dataset dataset;
    dataset.rows = 6;
    FeatureBlock block;
    block.name = std::string(kDefaultBlock);
    block.columns = {{"a", false, {}}, {"b", false, {}}};
    RowMatrix values(6, 2);
    values << 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, last_value;
    block.values = SharedMatrix(values);
    dataset.blocks.push_back(block);
    RoleColumn target;
    target.schema = {"label", true, {"no", "yes"}};
    target.values = (Vector(6) << 0, 1, 0, 1, 1, 0).finished();
    dataset.role_columns.push_back(target);

    class Sink final : public ByteSink {
     public:
      explicit Sink(BlobWriter* writer) : writer_(writer) {}
      absl::Status Write(std::string_view bytes) override { return writer_->Append(bytes); }

     private:
      BlobWriter* writer_;
    };
    auto writer = blobs_->NewBlob();
    ASSERT_TRUE(writer.ok()) << writer.status();
    Sink sink(writer->get());
    const absl::Status encoded = EncodeDataset(dataset, sink);
    ASSERT_TRUE(encoded.ok()) << encoded;
    const auto blob = (*writer)->Commit();
    ASSERT_TRUE(blob.ok()) << blob.status();
    DatasetRecord record;
    record.id = id;
    record.blob = blob->digest();
    ASSERT_TRUE(storage_->datasets().CreateDataset(record).ok());
  }

  JobSubmission Steps(int64_t steps) const {
    JobSubmission submission;
    submission.request = absl::StrCat(steps, " data");
    submission.model_name = "model";
    return submission;
  }
  std::string Submit(const JobSubmission& submission) {
    const auto created = manager_->Submit(submission);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->job.id : "";
  }
  JobRecord Job(const std::string& id) {
    auto job = storage_->jobs().GetJob(id);
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : JobRecord();
  }
  std::vector<JobEvent> Events(const std::string& id) {
    std::vector<JobEvent> events;
    const auto records = storage_->events().Read(id, 0, 100000);
    EXPECT_TRUE(records.ok()) << records.status();
    for (const EventRecord& record : *records) {
      const auto event = DecodeJobEvent(record);
      EXPECT_TRUE(event.ok()) << event.status();
      EXPECT_EQ(event->sequence, static_cast<int64_t>(events.size()) + 1);
      events.push_back(*event);
    }
    return events;
  }
  // "QUEUED", "RUNNING", "4 warm-up", "RESUMED 4", ...
  std::vector<std::string> EventTexts(const std::string& id) {
    std::vector<std::string> texts;
    for (const JobEvent& event : Events(id)) {
      switch (event.kind) {
        case JobEventKind::kState:
          texts.emplace_back(JobStateName(event.state));
          break;
        case JobEventKind::kProgress:
          texts.push_back(absl::StrCat(event.iteration, " ", event.report.stage));
          break;
        case JobEventKind::kResumed:
          texts.push_back(absl::StrCat("RESUMED ", event.iteration));
          break;
      }
    }
    return texts;
  }
  std::vector<AttemptReason> Reasons(const std::string& id) {
    std::vector<AttemptReason> reasons;
    const auto attempts = storage_->jobs().ListAttempts(id);
    EXPECT_TRUE(attempts.ok()) << attempts.status();
    for (const AttemptRecord& attempt : *attempts) {
      reasons.push_back(attempt.reason);
    }
    return reasons;
  }
  // The reason of a failed job.
  std::string ErrorReason(const std::string& id) {
    const JobRecord job = Job(id);
    EXPECT_EQ(job.state, JobState::kFailed);
    return job.error.has_value() ? GetReason(DecodeError(*job.error)) : "";
  }
  // That a verification has begun is stored a moment later. A job that never verifies fails the test.
  void WaitUntilVerifying(const std::string& id) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (Job(id).state != JobState::kVerifying) {
      ASSERT_LT(std::chrono::steady_clock::now(), deadline)
          << id << " is " << JobStateName(Job(id).state);
      std::this_thread::yield();
    }
  }
  // Waits until a verification has begun, if HoldVerifications was called.
  void WaitForVerification() {
    absl::MutexLock lock(&verification_mutex_);
    verification_mutex_.Await(absl::Condition(&verifying_));
  }
  // Verifications last until they are cancelled or let go. Call it before StartManager.
  void HoldVerifications() {
    entry_.verify = [this, verify = entry_.verify](
                        const OptionValues& options, const TrainingProblem& problem,
                        const Witness& witness,
                        RunContext& context) -> absl::StatusOr<Verification> {
      {
        absl::MutexLock lock(&verification_mutex_);
        verifying_ = true;
        // The token cannot notify, so it is looked at every millisecond.
        while (!let_go_ && !context.cancelled()) {
          verification_mutex_.AwaitWithTimeout(absl::Condition(&let_go_), absl::Milliseconds(1));
        }
      }
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      return verify(options, problem, witness, context);
    };
  }
  void LetVerificationsGo() {
    absl::MutexLock lock(&verification_mutex_);
    let_go_ = true;
  }
  // The digests of model and witness.
  std::pair<std::string, std::string> Blobs(const std::string& job_id) {
    const JobRecord job = Job(job_id);
    const auto version = storage_->models().GetVersion(job.model_name, job.model_version);
    EXPECT_TRUE(version.ok()) << version.status();
    return version.ok() ? std::make_pair(version->model_blob, version->witness_blob)
                        : std::pair<std::string, std::string>();
  }
  // The model that an uninterrupted run of as many steps gives.
  std::pair<std::string, std::string> UninterruptedBlobs(int64_t steps) {
    control_.AllowAll();
    const std::string id = Submit(Steps(steps));
    manager_->WaitUntilIdle();
    EXPECT_EQ(Job(id).state, JobState::kSucceeded);
    return Blobs(id);
  }

  absl::Mutex verification_mutex_;
  bool verifying_ ABSL_GUARDED_BY(verification_mutex_) = false;
  bool let_go_ ABSL_GUARDED_BY(verification_mutex_) = false;
  std::string folder_;
  std::ostringstream log_text_;  // read it when nothing runs
  std::shared_ptr<spdlog::logger> log_ = std::make_shared<spdlog::logger>(
      "test", std::make_shared<spdlog::sinks::ostream_sink_mt>(log_text_));
  StepControl control_;
  LearnerEntry entry_ = MakeChaoticEntry(&control_);
  TextPlanner planner_;
  FakeClock clock_;
  FullFileSystem files_;
  StorageFailures failures_;
  ThreadPool executor_{2};
  JobObserver* job_observer_ = nullptr;
  std::map<JobKind, JobWorkMaker> other_works_;
  JobManagerOptions options_;
  std::unique_ptr<Storage> storage_;
  std::unique_ptr<BlobStore> blobs_;
  std::unique_ptr<DiskReserve> reserve_;
  std::unique_ptr<CrashNotes> crash_notes_;
  std::unique_ptr<ProgressHub> hub_;
  std::unique_ptr<JobManager> manager_;
};

}  // namespace mercer::server

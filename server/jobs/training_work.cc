// A training: plan, data, checkpoint, training, model.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <future>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/run_safely.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/checkpoints.h"
#include "server/jobs/data/training_data.h"
#include "server/jobs/record/job_event.h"

namespace mercer::server {
namespace {

// Puts bytes on another thread; on this one where there is no memory to ask another. `blobs` outlives the pool.
std::future<absl::StatusOr<PinnedBlob>> PutBeside(Executor& writers, BlobStore& blobs,
                                                  std::shared_ptr<const std::string> bytes) {
  using Task = std::packaged_task<absl::StatusOr<PinnedBlob>()>;
  const auto task = std::make_shared<Task>([&blobs, bytes = std::move(bytes)] {
    return RunSafely("storing a file", [&] { return blobs.Put(*bytes); });
  });
  std::future<absl::StatusOr<PinnedBlob>> answer = task->get_future();
  const absl::Status posted = RunSafely("storing a file on another thread", [&] {
    writers.Post([task] { (*task)(); });
    return absl::OkStatus();
  });
  if (!posted.ok()) {
    (*task)();
  }
  return answer;
}

// How many events of a job are read at once.
constexpr int kEventsAtOnce = 1000;

// What the events of a job tell of the models that its attempts had.
struct ToldModels {
  int64_t first = 0;    // the iteration of the first progress with a model; 0: there is none
  int64_t longest = 0;  // after so many iterations what any attempt had kept is there again
};

void AddTold(const EventRecord& record, ToldModels& told) {
  const absl::StatusOr<JobEvent> event = DecodeJobEvent(record);
  if (!event.ok()) {
    return;
  }
  if (event->kind == JobEventKind::kProgress) {
    told.longest = std::max(told.longest, event->iteration);
    told.first = event->report.has_model && told.first == 0 ? event->iteration : told.first;
  } else if (event->kind == JobEventKind::kState && event->state == JobState::kVerifying) {
    // Perhaps of a model that a step had come to which was cut short.
    told.longest = std::max(told.longest, event->iteration + 1);
  }
}

// Errors: those of the log.
absl::StatusOr<ToldModels> ReadToldModels(EventLog& log, const std::string& job_id) {
  ToldModels told;
  int64_t last = 0;
  while (told.first == 0) {
    MERCER_ASSIGN_OR_RETURN(const std::vector<EventRecord> events,
                            log.Read(job_id, last, kEventsAtOnce));
    if (events.empty()) {
      break;
    }
    for (const EventRecord& event : events) {
      AddTold(event, told);
    }
    last = events.back().sequence;
  }
  return told;
}

class TrainingWork final : public JobWork, public RunObserver {
 public:
  // `frame` must outlive it.
  explicit TrainingWork(AttemptFrame& frame) : frame_(frame) {}

  absl::StatusOr<WorkOutcome> Run() override {
    MERCER_ASSIGN_OR_RETURN(const Prepared prepared, Prepare());
    MERCER_ASSIGN_OR_RETURN(TrainedModel trained, Train(prepared));
    return StoreModels(prepared, std::move(trained));
  }

  // RunObserver: what the run tells first tells that it could read its state.
  void OnProgress(const ProgressEvent& event) override {
    checkpoints_.GoOn();
    frame_.recorder().Record(event);
    if (event.report.has_model || event.iteration >= owed_iteration_) {
      owed_iteration_ = 0;
    }
  }
  void OnStage(const ProgressEvent& event) override { OnProgress(event); }
  bool WantsCheckpoint() override { return checkpoints_.IsDue(); }
  // What scratch files leave free on the disk has room for it.
  bool WantsLastCheckpoint() override { return checkpoints_.AreOfUse(); }
  void OnCheckpoint(std::string state) override {
    checkpoints_.GoOn();
    checkpoints_.Save([&] { return dependencies_.blobs->Put(state); });
  }
  void OnVerifying() override {
    checkpoints_.GoOn();
    frame_.recorder().BeginVerifying(
        {frame_.recorder().iteration(), StateEvent(JobState::kVerifying).payload});
  }

  bool StopRequested() override {
    return frame_.interruption()->stop_requested() && owed_iteration_ == 0;
  }

 private:
  struct Prepared {
    JobPlan plan;
    const LearnerEntry* entry = nullptr;
    TrainingData data;
    const ScratchSpace* scratch = nullptr;
  };

  absl::StatusOr<Prepared> Prepare() {
    Prepared prepared;
    const JobRecord& job = frame_.job();
    std::optional<JobPlan> kept = frame_.environment().plans->Take(job.id, job.request);
    if (kept.has_value()) {
      prepared.plan = *std::move(kept);
    } else {
      MERCER_ASSIGN_OR_RETURN(prepared.plan, dependencies_.planner->Plan(job.request));
    }
    prepared.entry = dependencies_.find_learner(prepared.plan.recipe.learner);
    if (prepared.entry == nullptr) {
      return absl::FailedPreconditionError(absl::StrCat(
          "this version of the server has no learner '", prepared.plan.recipe.learner, "'"));
    }
    MERCER_ASSIGN_OR_RETURN(OpenedData opened,
                            frame_.KeepTrying("cannot open the data set", kReadTries, [&] {
                              return OpenVerifiedData(*frame_.environment().datasets,
                                                      prepared.plan.dataset_ids, frame_.token());
                            }));
    const RunContext context(frame_.token(), 1, nullptr);
    MERCER_ASSIGN_OR_RETURN(prepared.data, JoinContents(opened.contents, context));
    prepared.data.records = std::move(opened.records);
    const TrainingRecipe& recipe = prepared.plan.recipe;
    MERCER_ASSIGN_OR_RETURN(
        const ScratchChoice choice,
        frame_.environment().scratch->Choose(*prepared.entry, recipe, *prepared.data.rows,
                                             frame_.job().memory_bytes, context));
    prepared.scratch = choice.space;
    return prepared;
  }

  // The state to continue from, empty for the start. Errors: those of Checkpoints::Load.
  absl::StatusOr<std::string> LoadState() {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<MappedFile> file, checkpoints_.Load());
    return file == nullptr ? std::string() : std::string(file->contents());
  }

  // A stop that was accepted before this attempt keeps the model that there was. Where what the attempt begins with, the state of a
  // checkpoint or nothing, is older than that model, the stop waits for the first one, or until the training has come as far again.
  absl::Status OweModel(bool begins_anew) {
    owed_iteration_ = 0;
    if (!frame_.job().stop_requested) {
      return absl::OkStatus();
    }
    const absl::StatusOr<ToldModels> told = frame_.KeepTrying(
        "cannot read the events", kReadTries,
        [&] { return ReadToldModels(dependencies_.storage->events(), frame_.job().id); });
    if (!told.ok() && !IsForGood(told.status())) {
      return told.status();
    }
    if (!told.ok()) {  // a damaged one: what the attempt begins with is kept all the same
      frame_.Log("cannot tell whether there was a model", told.status());
      return absl::OkStatus();
    }
    const int64_t owed = told->first > 0 ? told->first : told->longest;
    if (begins_anew || owed > frame_.recorder().iteration()) {
      owed_iteration_ = owed;
    }
    return absl::OkStatus();
  }

  absl::StatusOr<TrainedModel> Train(const Prepared& prepared) {
    const RecipeRun run{prepared.entry, &prepared.plan.recipe, prepared.data.rows.get(),
                        prepared.data.digest, frame_.environment().options.code_version};
    MERCER_ASSIGN_OR_RETURN(const std::string state, LoadState());
    MERCER_RETURN_IF_ERROR(OweModel(state.empty()));
    RunContext context(frame_.token(), prepared.plan.num_threads, frame_.environment().cache);
    context.set_clock(dependencies_.clock);
    context.set_scratch(prepared.scratch);
    absl::StatusOr<TrainedModel> trained = RunRecipe(run, state, context, *this);
    const bool unusable_state =
        absl::IsDataLoss(trained.status()) || GetReason(trained.status()) == "OTHER_VERSION";
    if (!state.empty() && unusable_state) {
      frame_.Log("cannot continue from the checkpoint", trained.status());
      checkpoints_.StartOver("the checkpoint cannot be used");
      MERCER_RETURN_IF_ERROR(OweModel(true));
      return RunRecipe(run, "", context, *this);
    }
    checkpoints_.GoOn();
    return trained;
  }

  absl::StatusOr<WorkOutcome> StoreModels(const Prepared& prepared, TrainedModel trained) {
    WorkOutcome outcome;
    for (PathModel& other : trained.others) {
      MERCER_ASSIGN_OR_RETURN(const Model model, LoadModel(other.model));
      MERCER_RETURN_IF_ERROR(StoreModel(prepared, model, std::move(other.witness),
                                        {{kPathValueLabel, FormatOptionValue(other.value)}},
                                        outcome));
    }
    Labels labels;
    const std::optional<OptionPath>& path = prepared.plan.recipe.path;
    if (path.has_value() && path->keep_all) {
      labels = {{kPathValueLabel, FormatOptionValue(trained.model.options.at(path->option))},
                {kPathBestLabel, "true"}};
    }
    MERCER_RETURN_IF_ERROR(StoreModel(prepared, trained.model, SaveWitness(trained.witness),
                                      std::move(labels), outcome));
    return outcome;
  }

  // `labels`: beside those of the job.
  absl::Status StoreModel(const Prepared& prepared, const Model& model, std::string witness_bytes,
                          Labels labels, WorkOutcome& outcome) {
    const auto witness = std::make_shared<const std::string>(std::move(witness_bytes));
    const auto put = [this](const std::string& bytes) {
      return frame_.KeepTrying("cannot store the model yet", kEndlessTries,
                               [&] { return dependencies_.blobs->Put(bytes); });
    };
    // Both wait for the disk at the same time. What does not succeed at once is tried again afterwards.
    std::future<absl::StatusOr<PinnedBlob>> early =
        PutBeside(*frame_.environment().writers, *dependencies_.blobs, witness);
    MERCER_ASSIGN_OR_RETURN(PinnedBlob model_blob, put(SaveModel(model)));
    absl::StatusOr<PinnedBlob> witness_blob = early.get();
    if (!witness_blob.ok()) {
      MERCER_ASSIGN_OR_RETURN(witness_blob, put(*witness));
    }
    NewVersion& version = outcome.versions.emplace_back();
    version.learner = prepared.plan.recipe.learner;
    version.model_blob = model_blob.digest();
    version.model_bytes = model_blob.size();
    version.witness_blob = witness_blob->digest();
    version.witness_bytes = witness_blob->size();
    version.summary = dependencies_.planner->SummarizeModel(
        {&frame_.job(), &prepared.plan, prepared.data.records,
         FindWarnings(prepared.plan.recipe, *prepared.data.rows, model)},
        model);
    labels.insert(frame_.job().labels.begin(), frame_.job().labels.end());
    version.labels = std::move(labels);
    outcome.blobs.push_back(std::move(model_blob));
    outcome.blobs.push_back(*std::move(witness_blob));
    return absl::OkStatus();
  }

  AttemptFrame& frame_;
  const JobManagerDependencies& dependencies_ = frame_.dependencies();
  Checkpoints checkpoints_{frame_};
  // A stop is not heard before this one, or a model, was told of; 0: it is heard at once.
  std::atomic<int64_t> owed_iteration_{0};
};

}  // namespace

std::unique_ptr<JobWork> MakeTrainingWork(AttemptFrame& frame) {
  return std::make_unique<TrainingWork>(frame);
}

}  // namespace mercer::server

// A training: plan, data, checkpoint, training, model.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "core/training/recipe/recipe.h"
#include "server/jobs/attempt_frame.h"
#include "server/jobs/data/training_data.h"
#include "server/jobs/job_work.h"

namespace mercer::server {

class TrainingWork final : public JobWork, public RunObserver {
 public:
  // `frame` must outlive it.
  explicit TrainingWork(AttemptFrame* frame);

  absl::StatusOr<WorkOutcome> Run() override;

  // RunObserver
  void OnProgress(const ProgressEvent& event) override { frame_.recorder().Record(event); }
  void OnStage(const ProgressEvent& event) override { frame_.recorder().Record(event); }
  bool WantsCheckpoint() override;
  bool WantsLastCheckpoint() override;
  void OnCheckpoint(std::string state) override;
  void OnVerifying() override;
  bool StopRequested() override { return frame_.interruption()->stop_requested(); }

 private:
  using Interruption = AttemptInterruptionKind;

  struct Prepared {
    JobPlan plan;
    const LearnerEntry* entry = nullptr;
    TrainingData data;
    const ScratchSpace* scratch = nullptr;
  };

  absl::StatusOr<Prepared> Prepare();
  // The state to continue from, empty for the start; tells watchers of a second attempt where it
  // begins. Errors: kCancelled; those of disk and storage.
  absl::StatusOr<std::string> LoadState();
  absl::StatusOr<TrainedModel> Train(const Prepared& prepared);
  absl::StatusOr<WorkOutcome> StoreModels(const Prepared& prepared, const TrainedModel& trained);
  // `labels`: beside those of the job.
  absl::Status StoreModel(const Prepared& prepared, const Model& model, const std::string& witness,
                          Labels labels, WorkOutcome& outcome);

  AttemptFrame& frame_;
  const JobManagerDependencies& dependencies_;
  absl::Duration last_checkpoint_;
};

}  // namespace mercer::server

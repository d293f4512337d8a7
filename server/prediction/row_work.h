// Work that goes through the rows of a data set, block by block, and goes on behind those that its checkpoint has.
//
// A checkpoint has a head, which says of which model and data set it is, how long the work has taken and how many rows are done, and behind
// it what they have come to, as the kind of work writes it.
#pragma once

#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/jobs/checkpoints.h"
#include "server/prediction/dataset_prediction.h"
#include "server/prediction/model_work.h"

namespace mercer::server {

class RowWork : public ModelWork {
 public:
  using ModelWork::ModelWork;

 protected:
  // Appends what the rows that are `done_` have come to, by Append.
  virtual absl::Status SaveRows(BlobWriter& writer) = 0;

  // Takes up what the checkpoint has, if there is one of this model and these rows: `restore` gets what SaveRows has appended, and answers
  // whether that is of use; done_ is as it was then. Else the work begins from its start. Errors: those of Checkpoints::Load and `restore`.
  absl::Status Resume(const LoadedModel& model, const OpenedDataset& dataset,
                      absl::FunctionRef<absl::StatusOr<bool>(std::string_view saved)> restore);
  // Tells watchers that done_ has grown, and writes a checkpoint when one is due. Errors: those of CheckGoesOn.
  absl::Status OnBlock(const char* phase);
  // Of work that `error` has ended: what a drain has cut is kept.
  void KeepAfter(const absl::Status& error);

  // In pieces, as long as a later attempt may have use for them. Errors: those of the writer and of CheckGoesOn.
  absl::Status Append(std::string_view bytes, BlobWriter& writer) const;

  PredictedRows done_;

 private:
  void Save();
  bool IsDrained() const;

  Checkpoints checkpoints_{frame_};
  std::string model_;  // digests
  std::string dataset_;
  Index rows_ = 0;        // of the data set
  Index saved_rows_ = 0;  // by the checkpoint
  absl::Duration pause_;  // at least, before the next one
};

}  // namespace mercer::server

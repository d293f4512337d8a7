// The request of "mercer train" from its flags.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "mercer/v1/training.pb.h"

namespace mercer::client {

struct TrainFlags {
  std::string data;
  std::string learner;
  std::vector<std::string> kernels;
  std::optional<std::string> task;         // column of the tasks
  bool one_task = false;                   // whatever columns of tasks there are
  std::vector<std::string> further_tasks;  // data sets, each a task as `data` then is
  std::string target;
  bool regression = false;
  bool classes = false;  // neither: the server decides
  std::string target_scaling;
  bool one_vs_one = false;
  std::string hold_out;          // a share, or "split"
  std::string folds;             // a number, or "split"
  std::optional<int> stability;  // trainings on halves of the rows
  std::string test_ranking;      // numbers of first columns, "1,2,4", or "auto"
  std::string path;              // OPTION=VALUE,..., or OPTION=FIRST:LAST:COUNT
  bool keep_path = false;
  std::string scaling;
  bool impute = false;
  bool unseen_zeros = false;
  std::string square_repair;
  std::vector<std::string> blocks;
  std::string class_weights;
  uint64_t seed = 0;
  std::optional<double> gap;
  std::optional<int64_t> max_iterations;
  std::string time_limit;
  int threads = 0;
  int priority = 0;
  std::string model;
  std::string display_name;
  std::vector<std::string> labels;
  std::string request_id;
  bool watch = false;
  bool dry_run = false;
};

// Everything but the learner. Errors: kInvalidArgument naming the flag.
absl::StatusOr<v1::TrainRequest> MakeTrainRequest(const TrainFlags& flags);

}  // namespace mercer::client

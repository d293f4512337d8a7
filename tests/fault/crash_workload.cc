#include "tests/fault/crash_workload.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>
#include <zlib.h>

namespace mercer::server {
namespace {

// Of the 4601 rows of the data; decides how long a training takes.
constexpr int kRowsOfRound = 1150;

// The lines of the data, the header first.
std::vector<std::string> ReadLines() {
  const std::string path = absl::StrCat(MERCER_SOURCE_DIR, "/demo/data/spambase.csv.gz");
  std::vector<std::string> lines;
  const gzFile file = gzopen(path.c_str(), "rb");
  EXPECT_NE(file, nullptr) << "cannot read " << path;
  if (file != nullptr) {
    char buffer[4096];
    while (gzgets(file, buffer, sizeof(buffer)) != nullptr) {
      lines.emplace_back(buffer);
    }
    gzclose(file);
  }
  return lines;
}

v1::KernelGrid Gaussians(double smallest, double largest, int count) {
  v1::KernelGrid grid;
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.set_rule(v1::BANDWIDTH_RULE_LOG_SPACED);
  grid.set_min_bandwidth(smallest);
  grid.set_max_bandwidth(largest);
  grid.set_count(count);
  return grid;
}

v1::TrainRequest MakeTraining(int round, const std::string& name) {
  v1::TrainRequest request;
  request.add_data()->set_dataset(absl::StrCat("datasets/round-", round));
  request.set_model(absl::StrCat("models/", name, "-", round));
  request.set_request_id(absl::StrCat(name, "-", round));
  request.set_seed(static_cast<uint64_t>(round) + 1);
  (*request.mutable_labels())["round"] = absl::StrCat(round);
  return request;
}

// One long training in many steps.
v1::TrainRequest MakeSelection(int round) {
  v1::TrainRequest request = MakeTraining(round, "selection");
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  *learner.add_kernels() = Gaussians(1, 100, 40);
  learner.set_p(1.0);
  learner.set_c(100.0);
  request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
  request.mutable_stopping()->set_relative_gap(1e-6);
  return request;
}

// Several trainings in a row.
v1::TrainRequest MakeFolds(int round) {
  v1::TrainRequest request = MakeTraining(round, "folds");
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  *learner.add_kernels() = Gaussians(0.5, 50, 8);
  learner.add_kernels()->set_type(v1::KERNEL_TYPE_LINEAR);
  learner.set_outer_loop(v1::LpMkl::OUTER_LOOP_ALTERNATION);
  request.mutable_validation()->mutable_folds()->set_count(20);
  return request;
}

v1::TrainRequest MakeMachine(int round) {
  v1::TrainRequest request = MakeTraining(round, "machine");
  v1::Svm& learner = *request.mutable_learner()->mutable_svm();
  *learner.add_kernels() = Gaussians(5, 5, 1);
  learner.set_c(100.0);
  request.mutable_validation()->mutable_folds()->set_count(30);
  request.mutable_stopping()->set_relative_gap(1e-6);
  return request;
}

}  // namespace

std::vector<Round> MakeRounds(int count) {
  const std::vector<std::string> lines = ReadLines();
  std::vector<Round> rounds;
  for (int number = 0; number < count; ++number) {
    Round round;
    round.header.set_dataset_id(absl::StrCat("round-", number));
    round.header.set_request_id(absl::StrCat("upload-", number));
    v1::CsvFormat& format = *round.header.add_parts()->mutable_csv();
    (*format.mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
    // The data are sorted by class: rows at equal distances hold both.
    const size_t step = lines.size() / kRowsOfRound;
    for (size_t row = 0; row < lines.size(); ++row) {
      if (row == 0 || row % step == static_cast<size_t>(number) % step) {
        round.csv += lines[row];
      }
    }
    round.trainings = {MakeSelection(number), MakeFolds(number), MakeMachine(number)};
    rounds.push_back(std::move(round));
  }
  return rounds;
}

}  // namespace mercer::server

#include "tests/fault/crash_workload.h"

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>
#include <zlib.h>

#include "tests/support/source_folder.h"

namespace mercer::server {
namespace {

// Of the 4601 rows of the data; decides how long a training takes.
constexpr size_t kRowsOfContent = 400;
// Of what is uploaded in pieces: a few hundred bytes for each part.
constexpr int kTransferRows = 12;
constexpr int kTransferColumns = 4;

std::string BytesOf(const std::vector<double>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
}

// The lines of the data, the header first.
std::vector<std::string> ReadLines() {
  const std::string path = SourceFolder() / "demo/data/spambase.csv.gz";
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

// One long training in many steps.
v1::TrainRequest MakeSelection() {
  v1::TrainRequest request;
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  *learner.add_kernels() = Gaussians(1, 100, 30);
  learner.set_p(1.0);
  learner.set_c(100.0);
  request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
  request.mutable_stopping()->set_relative_gap(1e-7);
  return request;
}

// Several trainings in a row.
v1::TrainRequest MakeFolds() {
  v1::TrainRequest request;
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  *learner.add_kernels() = Gaussians(0.5, 50, 8);
  learner.add_kernels()->set_type(v1::KERNEL_TYPE_LINEAR);
  learner.set_outer_loop(v1::LpMkl::OUTER_LOOP_ALTERNATION);
  request.mutable_validation()->mutable_folds()->set_count(10);
  return request;
}

v1::TrainRequest MakeMachine() {
  v1::TrainRequest request;
  v1::Svm& learner = *request.mutable_learner()->mutable_svm();
  *learner.add_kernels() = Gaussians(5, 5, 1);
  learner.set_c(100.0);
  request.mutable_validation()->mutable_folds()->set_count(20);
  request.mutable_stopping()->set_relative_gap(1e-6);
  return request;
}

v1::TrainRequest MakeRidge() {
  v1::TrainRequest request;
  *request.mutable_learner()->mutable_kernel_ridge()->add_kernels() = Gaussians(5, 5, 1);
  request.mutable_validation()->mutable_folds()->set_count(5);
  return request;
}

}  // namespace

std::vector<std::string> MakeContents() {
  const std::vector<std::string> lines = ReadLines();
  // The data are sorted by class: rows at equal distances hold both.
  const size_t step = lines.size() / kRowsOfContent;
  std::vector<std::string> contents(kContents);
  for (size_t row = 0; row < lines.size(); ++row) {
    for (size_t content = 0; content < contents.size(); ++content) {
      if (row == 0 || row % step == content) {
        contents[content] += lines[row];
      }
    }
  }
  return contents;
}

v1::UploadHeader MakeUploadHeader() {
  v1::UploadHeader header;
  (*header.add_parts()->mutable_csv()->mutable_roles())["label"] = v1::COLUMN_ROLE_TARGET;
  return header;
}

std::vector<std::string> MakeTransferParts(int content) {
  std::vector<double> table;
  std::vector<double> square;
  for (int row = 0; row < kTransferRows; ++row) {
    for (int column = 0; column < kTransferColumns; ++column) {
      table.push_back(content + row * 0.5 + column);
    }
    for (int other = 0; other < kTransferRows; ++other) {
      square.push_back(row == other ? content + 2 : 0.25);
    }
  }
  return {BytesOf(table), BytesOf(square)};
}

v1::UploadHeader MakeTransferHeader() {
  v1::UploadHeader header;
  v1::DenseFormat& dense = *header.add_parts()->mutable_dense();
  for (int column = 0; column < kTransferColumns; ++column) {
    dense.add_columns()->set_name(absl::StrCat("x", column));
  }
  v1::SquareFormat& square = *header.add_parts()->mutable_square();
  square.set_name("similarity");
  square.set_kind(v1::SQUARE_KIND_KERNEL);
  return header;
}

v1::TrainRequest MakeRecipe(int recipe) {
  switch (recipe) {
    case 0:
      return MakeSelection();
    case 1:
      return MakeFolds();
    case 2:
      return MakeMachine();
    default:
      return MakeRidge();
  }
}

}  // namespace mercer::server

// The stored form of a data set, as it is mapped from a blob.
#include "core/io/store/dataset_file.h"

#include <cstring>
#include <string>

#include "core/base/status/errors.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/datasets.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/support/toy_data.h"

namespace mercer::fuzz {
namespace {

constexpr size_t kAlignment = 64;
constexpr size_t kSizeOffset = 24;

// With the size that the prefix names put right.
std::string WithItsSize(std::string_view bytes) {
  std::string file(bytes);
  file.resize((file.size() + kAlignment - 1) / kAlignment * kAlignment);
  const uint64_t size = file.size();
  if (file.size() >= kSizeOffset + sizeof(size)) {
    std::memcpy(file.data() + kSizeOffset, &size, sizeof(size));
  }
  return file;
}

void CheckFile(const std::string& file) {
  const absl::StatusOr<Dataset> dataset = DecodeDataset(file);
  if (!dataset.ok()) {
    RequireRefusal(dataset.status(), {absl::StatusCode::kDataLoss}, false);
    return;
  }
  Require(ValidateDataset(*dataset).ok(), "what was read is a data set");
  Require(dataset->MemoryBytes() <= 2 * file.size(), "a data set takes the memory of its file");
  const std::string canonical = EncodedDataset(*dataset);
  const absl::StatusOr<Dataset> again = DecodeDataset(canonical);
  Require(again.ok() && EncodedDataset(*again) == canonical, "what was written reads back");
  Require(SelectRows(*dataset, {dataset->rows - 1, 0}).rows == 2, "rows can be taken from it");
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  CheckFile(std::string(bytes));
  CheckFile(WithItsSize(bytes));
}

std::vector<std::string> Seeds() {
  Dataset mixed = ClassificationData(3, 2, 2, 1);
  mixed.squares.push_back(
      {"video", SquareKind::kDistance, SharedMatrix(RowMatrix::Constant(3, 3, 0.5))});
  mixed.role_columns.push_back(
      {ColumnRole::kGroup, {"person", true, {"ada", "bob"}}, Vector{{0, 1, 0}}});
  Dataset sparse = RegressionData(3, 1, 2);
  FeatureBlock& block = sparse.blocks.emplace_back();
  block.name = "words";
  block.is_sparse = true;
  block.sparse = {9, {0, 2, 2, 3}, {1, 8, 0}, {1.5, -2, 3}};
  return {EncodedDataset(mixed), EncodedDataset(sparse)};
}

}  // namespace mercer::fuzz

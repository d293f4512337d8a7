#include "server/prediction/row_blocks.h"

#include <algorithm>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr Index kMaxBlockRows = 4096;
constexpr int64_t kBlockBytes = int64_t{16} << 20;  // of a block's features and outputs
// Numbers that a row of a block is: raw, preprocessed, and predicted.
int64_t NumbersPerRow(const Model& model, const Dataset& dataset) {
  int64_t numbers = 1 + model.preprocessing.num_outputs() + model.function.num_outputs();
  for (const FeatureBlock& block : dataset.blocks) {
    numbers += block.num_columns();
  }
  for (const SquareBlock& square : dataset.squares) {
    numbers += 2 * square.values.cols();
  }
  return numbers;
}

Index BlockRows(const Model& model, const Dataset& dataset) {
  const int64_t bytes = NumbersPerRow(model, dataset) * static_cast<int64_t>(sizeof(double));
  return std::clamp<Index>(static_cast<Index>(kBlockBytes / bytes), 1, kMaxBlockRows);
}

// Rows are named as those of the data set, not of the block that begins at `begin`.
absl::Status CountFrom(Index begin, const absl::Status& status) {
  ErrorMetadata metadata = GetErrorMetadata(status);
  std::string message(status.message());
  bool has_row = false;
  for (auto& [name, value] : metadata) {
    int64_t row = 0;
    if (name == "row" && absl::SimpleAtoi(value, &row)) {
      const std::string shifted = absl::StrCat(row + begin);
      message = absl::StrReplaceAll(message,
                                    {{absl::StrCat("row ", value), absl::StrCat("row ", shifted)}});
      value = shifted;
      has_row = true;
    }
  }
  if (!has_row) {
    return status;
  }
  return WithReason(absl::Status(status.code(), message), GetReason(status), metadata);
}

}  // namespace

int64_t BytesOfBlock(const Model& model, const Dataset& dataset) {
  const int64_t block = BlockRows(model, dataset) * NumbersPerRow(model, dataset) *
                        static_cast<int64_t>(sizeof(double));
  // The predictor evaluates the kernels of some rows at a time, within as much.
  return 2 * block + 2 * kBlockBytes;
}

absl::Status ForEachRowBlock(
    const Model& model, const Dataset& dataset, Index first, const RunContext& context,
    const RowsDone& on_block,
    absl::FunctionRef<absl::Status(Index begin, const Dataset& block)> visit) {
  const Index block_rows = BlockRows(model, dataset);
  for (Index begin = first; begin < dataset.rows; begin += block_rows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = begin + std::min(block_rows, dataset.rows - begin);
    const absl::Status status = visit(begin, SelectRows(dataset, IndexRange(begin, end)));
    if (!status.ok()) {
      return begin > 0 && absl::IsInvalidArgument(status) ? CountFrom(begin, status) : status;
    }
    if (on_block) {
      MERCER_RETURN_IF_ERROR(on_block(end));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server

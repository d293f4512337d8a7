// Finds the columns that a model was trained on in the rows at hand.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/preprocess/preprocessing.h"
#include "core/data/table/dataset.h"

namespace mercer {

inline constexpr int32_t kUnseenCategory = -1;

// Where a column of the model is found in the rows at hand.
struct SourceColumn {
  size_t block = 0;   // of the data set
  Index column = -1;  // of the block; -1: beyond a sparse block's last entry, so zero
  // The model's category of each code of the data set, for a categorical column.
  std::vector<int32_t> categories;
};

// One source for each column of `transform`. By name when both sides have names, also when the rows
// are cut into other blocks; else by position in the block of the same name, or in the only block
// when the model has one block too. Errors: BAD_HEADER naming block and column.
absl::StatusOr<std::vector<SourceColumn>> MatchColumns(const Dataset& dataset,
                                                       const BlockTransform& transform,
                                                       size_t num_model_blocks);

// Errors: kResourceExhausted when a dense table of so many columns, with these rows in memory (0: a
// run that has a scratch space keeps them there), and what is known about each column take more
// than 8 GiB.
absl::Status CheckTableSize(std::string_view block, Index rows_in_memory, Index columns);

// Name of a column of the model for messages: "block[3]" when it has none.
std::string ShownColumn(const BlockTransform& block, size_t column);

}  // namespace mercer

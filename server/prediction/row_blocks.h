// A data set predicted block of rows by block, in bounded memory.
#pragma once

#include <cstdint>
#include <functional>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "core/training/model/model.h"

namespace mercer::server {

// Upper bound on the memory of a block: its features, raw and preprocessed, its outputs, and what the predictor has of as many rows
// at a time.
int64_t BytesOfBlock(const Model& model, const Dataset& dataset);

// Told how many rows are done, after each block; an error ends the work with it. May be empty.
using RowsDone = std::function<absl::Status(Index rows)>;

// Calls visit(begin, rows [begin, ...) of `dataset`) for one block after the other, from the row `first` on: 0, or as many as on_block
// was told are done. The blocks depend on the shapes alone. An error of `visit` that names a row of its block names it as that of the
// data set. Errors: those of `visit` and `on_block`; kCancelled.
absl::Status ForEachRowBlock(
    const Model& model, const Dataset& dataset, Index first, const RunContext& context,
    const RowsDone& on_block,
    absl::FunctionRef<absl::Status(Index begin, const Dataset& block)> visit);

}  // namespace mercer::server

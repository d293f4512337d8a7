// How much work a prediction is, before any of it is done.
#pragma once

#include <cstdint>

#include "core/training/model/model.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::server {

// Floating-point operations, about, that take about a millisecond.
inline constexpr int64_t kMillisecondOfWork = 1 << 19;

// Operations per row: every kernel on every basis row, weighed and summed for every output.
int64_t WorkPerRow(const Model& model, bool contributions);

// Rows of a request, as far as its parts say without being read.
int64_t ClaimedRows(const v1::Rows& rows);

// Rows that calls of the model are computed together for: few enough that the whole takes no more than
// about a millisecond or two, so that nobody waits longer for others, and at least 8.
int64_t RowsPerBatch(const Model& model);

}  // namespace mercer::server

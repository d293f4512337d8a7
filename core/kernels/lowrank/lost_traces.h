// What the features of kernels of low rank lose of the kernels themselves.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

// The share of each kernel's trace over all `rows` that its features leave out: 0 for a kernel that
// is zero or out of range. Estimated from the rows `sampled`, ascending, that are no landmarks;
// `values`, features x sampled, are their features. Errors: kCancelled.
absl::StatusOr<Vector> LostTraces(const NystromFeatures& features, const PreparedData& rows,
                                  const std::vector<Index>& sampled, const Matrix& values,
                                  RunContext& context);

}  // namespace mercer

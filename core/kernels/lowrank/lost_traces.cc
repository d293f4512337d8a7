#include "core/kernels/lowrank/lost_traces.h"

#include <algorithm>

#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/mean_kernel.h"

namespace mercer {

absl::StatusOr<Vector> LostTraces(const NystromFeatures& features, const PreparedData& rows,
                                  const std::vector<Index>& sampled, const Matrix& values,
                                  RunContext& context) {
  const std::vector<Index>& landmarks = features.landmark_rows();
  std::vector<Index> drawn;
  Vector kept = Vector::Zero(features.num_kernels());
  PacedCheck check(context);
  for (Index i = 0; i < values.cols(); ++i) {
    const Index row = sampled[static_cast<size_t>(i)];
    if (std::binary_search(landmarks.begin(), landmarks.end(), row)) {
      continue;
    }
    MERCER_RETURN_IF_ERROR(check.After(values.rows()));
    drawn.push_back(row);
    for (Index k = 0; k < kept.size(); ++k) {
      const Index first = features.first_feature(k);
      kept(k) += values.col(i).segment(first, features.first_feature(k + 1) - first).squaredNorm();
    }
  }
  Vector lost = Vector::Zero(kept.size());
  if (drawn.empty()) {
    return lost;
  }
  kept /= static_cast<double>(drawn.size());
  MERCER_ASSIGN_OR_RETURN(const MeanKernel kernels,
                          MeanKernel::Make(SelectRows(rows, drawn), features.kernels(), context));
  const double of_rows = 1 - static_cast<double>(landmarks.size()) / static_cast<double>(rows.rows);
  for (Index k = 0; k < lost.size(); ++k) {
    const double of_drawn = 1 - kept(k) / kernels.mean_diagonals()(k);
    if (of_drawn > 0) {
      lost(k) = of_rows * of_drawn;
    }
  }
  return lost;
}

}  // namespace mercer

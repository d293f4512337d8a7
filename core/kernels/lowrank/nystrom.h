// Nystrom factors of several kernels on landmarks, the same for all or each kernel's own:
// k_k(x, z) ~ v_k(x)'v_k(z), v_k(x) = M_k'k_k(x, Z).
//
// With W_k = k_k(Z, Z) = L diag(e) L', M_k = L diag(e)^(-1/2) over the eigenvalues that are kept.
// The approximation is below the kernel in the order of positive semidefinite matrices on rows that
// contain the landmarks. Landmarks that come with a factor, M_k = T_k^-T of an incomplete Cholesky
// factor's pivots T_k T_k' = W_k, keep its M_k. Source: Rakotomamonjy, Chanda: lp-norm multiple
// kernel learning with low-rank kernels, section 2; docs/mathematics/README.md, section 7.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/lowrank/landmarks.h"

namespace mercer {

struct NystromOptions {
  Index max_rank = 0;  // of each kernel; 0: as many as there are landmarks
  // Keeps e_1, and e_j > threshold N e_1, N landmarks; in [1e-15, 1e-2].
  double eigenvalue_threshold = 1e-10;
};

// k(z_j, x_r), landmarks of one kernel x rows.
using CrossValues = Eigen::Map<const Matrix, 0, Eigen::OuterStride<>>;

// Immutable and safe for concurrent use.
class NystromFeatures {
 public:
  // The kernels between some rows and the landmarks: all kernels together, or one by one where each
  // has landmarks of its own.
  using Bound = std::vector<BoundCrossKernels>;

  // Errors: kInvalidArgument (kernels that do not fit the data; reason NOT_PSD with the kernel when
  // an eigenvalue of W_k is below -1e-8 times the largest magnitude of them or a value of W_k is
  // not finite), kCancelled, kInternal (eigenvalues that do not converge).
  static absl::StatusOr<NystromFeatures> Make(const Landmarks& landmarks,
                                              std::vector<KernelSpec> kernels,
                                              const NystromOptions& options, RunContext& context);

  Index num_kernels() const { return static_cast<Index>(maps_.size()); }
  // The number of features of all kernels together.
  Index num_features() const { return first_.back(); }
  // Where the features of kernel k begin; first_feature(num_kernels()) = num_features().
  Index first_feature(Index k) const { return first_[static_cast<size_t>(k)]; }
  // M_k: landmarks x features of kernel k. A kernel that is zero has none.
  const Matrix& map(Index k) const { return *maps_[static_cast<size_t>(k)]; }
  const std::vector<KernelSpec>& kernels() const { return kernels_; }
  // The rows that the landmarks are, ascending; none where they are no rows.
  const std::vector<Index>& landmark_rows() const { return landmarks_.rows; }

  // Some features, ascending, each times the scale of its kernel: the same kernels, most of them of
  // fewer features or none.
  NystromFeatures Select(const std::vector<Index>& chosen, const Vector& scales) const;

  // The kernels between the rows of `x` and the landmarks.
  absl::StatusOr<Bound> Bind(const PreparedData& x, RunContext& context) const;
  // Calls visit(k, values) for every kernel k, with its values at rows [begin, end): those of one
  // kernel are in memory at a time. No more calls once cancelled.
  void ForEachKernel(const Bound& x, Index begin, Index end, const RunContext& context,
                     const std::function<void(Index k, const CrossValues& values)>& visit) const;
  // out(:, r) = v(x_(begin + r)), all kernels one below the other: num_features x (end - begin).
  // Ends early, with values of no use, once cancelled.
  void Evaluate(const Bound& x, Index begin, Index end, MatrixRef out,
                const RunContext& context) const;
  // The part of it that is about kernel k, from its values at landmarks and rows.
  void EvaluateKernel(Index k, const CrossValues& values, MatrixRef out,
                      const RunContext& context) const;
  // The features v of all rows: num_features() x rows. Errors: those of Bind, kCancelled.
  absl::StatusOr<Matrix> EvaluateAll(const PreparedData& x, RunContext& context) const;

 private:
  NystromFeatures(Landmarks landmarks, std::vector<KernelSpec> kernels)
      : landmarks_(std::move(landmarks)), kernels_(std::move(kernels)) {}

  bool shared() const { return landmarks_.shared(); }
  // Errors: those of CrossKernels.
  absl::Status MakeCross(const RunContext& context);
  void AddMap(std::shared_ptr<const Matrix> map);
  absl::Status AddMaps(const CrossKernels& cross, const PreparedData& landmarks,
                       const NystromOptions& options, RunContext& context);

  Landmarks landmarks_;  // without their square blocks
  std::vector<KernelSpec> kernels_;
  std::vector<CrossKernels> cross_;  // for all kernels, or one for each
  std::vector<std::shared_ptr<const Matrix>> maps_;
  std::vector<Index> first_;
};

}  // namespace mercer

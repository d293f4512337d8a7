// Kernels of low rank on a joint basis: K_k = Q L_k'L_k Q', Q = n x r in single precision, L_k
// small. What their sum of any weights costs does not depend on the number of kernels but for
// products of order r. The approximation defines the problem: all operations are about these
// kernels and no others. Source: docs/mathematics/README.md, section 7.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/kernels/gram/factor_rows.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/lowrank/fit_probes.h"
#include "core/kernels/lowrank/joint_basis.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

struct LowRankOptions {
  NystromOptions nystrom;
  JointBasisOptions basis;
};

class LowRankKernelFamily : public KernelFamily {
 public:
  // Makes the family over all rows of `inputs`. Reports the stages "compression" and "factor".
  // Errors: kInvalidArgument naming "kernels[k]" (as MakeExactKernelFamily, and reason NOT_PSD),
  // kCancelled.
  static absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> Make(const PreparedData& inputs,
                                                                   const Landmarks& landmarks,
                                                                   std::vector<KernelSpec> kernels,
                                                                   const LowRankOptions& options,
                                                                   RunContext& context);

  Index size() const override { return rows_->rows(); }
  Index num_kernels() const override { return features_.num_kernels(); }
  const Vector& scales() const override { return scales_; }

  absl::Status QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels, MatrixRef out,
                              RunContext& context) const override;
  absl::Status Products(ConstVectorRef a, absl::Span<const Index> kernels,
                        absl::Span<const Index> rows, MatrixRef out,
                        RunContext& context) const override;
  absl::Status CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                               RunContext& context) const override;
  // Its operator hands out the kernels of positive weight as blocks, and must not outlive the
  // family.
  absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(ConstVectorRef weights,
                                                          RunContext& context) const override;
  absl::Status Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                         RunContext& context) const override;

  // The number r of columns of the joint basis.
  Index joint_rank() const { return rows_->cols(); }
  // The number of features of all kernels before the joint basis.
  Index num_features() const { return first_feature_.back(); }
  // The kernels, ascending, whose values at the landmarks the rows are computed from: those with a
  // feature in the joint basis.
  std::vector<Index> basis_kernels() const;
  // The share of the squared norms of all rows, every kernel scaled to the same, that the joint
  // basis leaves out: exact where it is found from all rows, else estimated (FitProbes). What
  // FindJointBasis promises holds for the rows that the basis is found from, landmarks among them;
  // of others more may be left out.
  double dropped_share() const { return dropped_share_; }

  // The kernels at some of the rows alone. Errors: kCancelled.
  absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> OnRows(absl::Span<const Index> rows,
                                                              RunContext& context) const;

  // The function sum_k weights(k) sum_i dual(i) K_k(x_i, .) on the landmarks: for each kernel the
  // coefficients of its values at its landmarks, none for a kernel that has no part. The kernels share one
  // basis, so that a weight of 0 is no coefficient of 0. At new rows, too, this is a function of
  // the joint basis: where there are fewer rows than features, and so directions of the features
  // that no row has, it may differ from that of the kernels' own features by more than the
  // tolerance. Errors: kCancelled.
  absl::StatusOr<std::vector<Vector>> LandmarkCoefficients(ConstVectorRef weights,
                                                           ConstVectorRef dual,
                                                           RunContext& context) const;
  // The numbers |L_k y| of every kernel: the norm that the function sum_k weights(k) Q L_k'L_k y
  // has in kernel k, without the factor weights(k). Errors: kCancelled.
  absl::StatusOr<Vector> PartNorms(ConstVectorRef y, const RunContext& context) const;
  // A bound of |row(i)| |z|, where f(x_i) = row(i)'z is that function: what its rounding is small
  // against. Errors: kCancelled.
  absl::StatusOr<double> FunctionScale(ConstVectorRef weights, ConstVectorRef dual,
                                       RunContext& context) const;

 private:
  explicit LowRankKernelFamily(NystromFeatures chosen) : features_(std::move(chosen)) {}

  // Computes the rows of the factor, and with `probes`, null where it is known, what is lost of
  // them.
  absl::Status Fill(const PreparedData& inputs, const Vector& scales, const FitProbes* probes,
                    RunContext& context);
  absl::Status SetScales(Matrix& restore, RunContext& context);
  Index BlockSize(Index k) const {
    return first_feature_[static_cast<size_t>(k + 1)] - first_feature_[static_cast<size_t>(k)];
  }
  // The matrix L_k.
  auto Restore(Index k) const {
    return restore_->middleRows(first_feature_[static_cast<size_t>(k)], BlockSize(k));
  }
  // The coefficients z = sum_k weights(k) L_k'L_k Q'a, with which a combination's product is Q z.
  absl::StatusOr<Vector> CombinedCoefficients(ConstVectorRef weights, ConstVectorRef a,
                                              RunContext& context) const;

  NystromFeatures features_;  // of all kernels: those of the joint basis, scaled
  std::vector<Index> first_feature_;
  // The L_k of all kernels one below the other, scaling included.
  std::shared_ptr<const Matrix> restore_;
  std::shared_ptr<FactorRows> rows_;
  Vector scales_;
  double dropped_share_ = 0;
  double largest_norm_ = 0;  // of a row
};

struct LowRankShape {
  Index rows = 0;
  Index kernels = 0;
  Index landmarks = 0;      // of one kernel
  Index all_landmarks = 0;  // of all together
  Index of_kernel = 0;      // the most features of one kernel
  Index max_columns = 0;    // of the joint basis
};

// Upper bound on the bytes that making a family and one combination takes at its peak.
size_t LowRankFamilyBytes(const LowRankShape& shape);
// Upper bound on the bytes that a family and a combination keep.
size_t LowRankFamilyKeptBytes(const LowRankShape& shape);

}  // namespace mercer

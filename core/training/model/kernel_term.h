// The part of a model's function that is a combination of kernels with the rows of a basis.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/kernels/gram/kernel_family.h"
#include "core/training/model/model.h"
#include "core/training/model/term_values.h"

namespace mercer {

// Evaluates a combination of kernels.
class KernelTermValues : public TermValues {
 public:
  // The term must outlive the values. Errors: kDataLoss, kCancelled.
  static absl::StatusOr<KernelTermValues> Make(const KernelTerm& term, const Basis& basis,
                                               const RunContext& context);

  size_t MemoryBytes() const override;
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& rows) const override;
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override;

 private:
  KernelTermValues(const KernelTerm& term, CrossKernels cross_kernels)
      : term_(term), cross_kernels_(std::move(cross_kernels)) {}

  absl::Status AddRows(const PreparedData& rows, MatrixRef values, RunContext& context) const;
  // `cross` has room for the values of a kernel.
  absl::Status AddKernel(const PreparedData& rows, Index kernel, Matrix& cross, MatrixRef values,
                         RunContext& context) const;

  const KernelTerm& term_;
  CrossKernels cross_kernels_;
};

}  // namespace mercer

// The part of a model's function that is a combination of kernels with the rows of a basis.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <Eigen/SparseCore>

#include "core/base/encoding/saved_fields.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/encoding/encoding.h"
#include "core/training/terms/term.h"

namespace mercer {

// The term adds f_o(x) = sum_k weights(k, o) sum_i coefficients(i, o) K_k(x, z_i) to output o, z_i
// being the rows of the basis.
struct KernelTerm : TermOf<KernelTerm> {
  static constexpr std::string_view kKind = "kernel";

  absl::Status CheckValues(const TermPlace& place, Index num_square_columns) const override;
  void MoveBases(const TermMove& move);
  // Terms of one basis tell their outputs together, with the kernels of both.
  std::shared_ptr<const Term> Joined(const Term& later) const override;
  void Scale(double factor) { coefficients *= factor; }
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& rows) const override;
  std::optional<int> BasisOfShares() const override { return basis; }
  absl::Span<const KernelSpec> Kernels() const override { return kernels; }
  void MarkRows(std::vector<std::vector<bool>>& used) const override;
  Index num_coefficients() const override { return coefficients.nonZeros(); }
  int64_t WorkPerRow(int64_t columns, bool by_share) const override;

  int basis = 0;                             // index into ModelFunction::bases
  std::vector<KernelSpec> kernels;           // those with a weight other than 0 in some output
  Matrix weights;                            // kernels x outputs of the term: eta, scale folded in
  Eigen::SparseMatrix<double> coefficients;  // basis rows x outputs of the term

  static void VisitFields(auto& visit, auto& self) {
    visit(self.basis, self.kernels, self.outputs, self.weights,
          Custom(self.coefficients, WriteSparse, ReadSparse));
  }

 private:
  absl::Status CheckOwnShape(const TermPlace& place) const override;
};

// The labels of the kernels of all kernel terms, which their saved fields do not have.
bool HasKernelLabels(const Terms& terms);
void WriteKernelLabels(const Terms& terms, ByteWriter& writer);
// The terms with the labels that are read.
Terms WithKernelLabels(Terms terms, ByteReader& reader);

// The saved field of these labels.
template <typename List>
auto LabelsOfTerms(List& terms) {
  return Custom(terms, WriteKernelLabels,
                [&terms](ByteReader& reader) { return WithKernelLabels(terms, reader); });
}

}  // namespace mercer

// Products of rows with a few vectors, and what features make of them, compiled for every
// instruction set and chosen at run time.
//
// A product is summed over the inputs in their order, one multiply-add after the other: its bits
// depend on the row and the vector alone. Rows are the lanes of the registers.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"

namespace mercer {

// So many vectors are side by side.
inline constexpr Index kProjectionWidth = 4;

// Vectors to project on, in the order in which they are read. Immutable, safe for concurrent use.
template <typename Scalar>
class ProjectionVectors {
 public:
  // Vector g is column g of `vectors`.
  explicit ProjectionVectors(const ConstMatrixRef& vectors);

  Index num_inputs() const { return num_inputs_; }
  Index count() const { return count_; }
  // Entry k of vectors [g, g + kProjectionWidth) is at kProjectionWidth k; zeros beyond the last
  // vector. g is a multiple of kProjectionWidth.
  const Scalar* block(Index g) const { return values_.data() + g * num_inputs_; }

 private:
  Index num_inputs_;
  Index count_;
  std::vector<Scalar> values_;
};

// out(i, 2 g) = cos v_g'x_i, out(i, 2 g + 1) = sin v_g'x_i: in double precision within 2 units in
// the last place of 1, in single precision with an error of at most 1e-7. NaN where |v_g'x_i| > 1e8
// or it is NaN.
void CosinesAndSines(const ProjectionVectors<double>& vectors, const ConstRowMatrixRef& rows,
                     Eigen::Ref<Eigen::MatrixXd> out);
void CosinesAndSines(const ProjectionVectors<double>& vectors, const ConstRowMatrixRef& rows,
                     Eigen::Ref<Eigen::MatrixXf> out);

// out(i, j) = sum over the vectors g of [j per_sum, (j + 1) per_sum) of |v_g'x_i|; per_sum is a
// multiple of kProjectionWidth.
void AbsoluteSums(const ProjectionVectors<double>& vectors, Index per_sum,
                  const ConstRowMatrixRef& rows, Eigen::Ref<Eigen::MatrixXd> out);
void AbsoluteSums(const ProjectionVectors<float>& vectors, Index per_sum,
                  const ConstRowMatrixRef& rows, Eigen::Ref<Eigen::MatrixXf> out);

}  // namespace mercer

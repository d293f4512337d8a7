// Numeric types shared by the whole core.
//
// Dense matrices are column-major doubles; feature blocks, which are read row by row, are
// row-major. Every allocation made by Eigen is 64-byte aligned (EIGEN_MAX_ALIGN_BYTES=64 on the
// command line): Eigen's sums depend on the alignment of their operands, and equal inputs must give
// equal bits.
#pragma once

#include <cstdint>
#include <limits>

#include <Eigen/Core>

#include "core/base/numeric/matrix_storage.h"

namespace mercer {

using Index = Eigen::Index;
using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;
using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

using VectorRef = Eigen::Ref<Vector>;
using ConstVectorRef = Eigen::Ref<const Vector>;
using MatrixRef = Eigen::Ref<Matrix>;
using ConstMatrixRef = Eigen::Ref<const Matrix>;
using RowMatrixRef = Eigen::Ref<RowMatrix>;
using ConstRowMatrixRef = Eigen::Ref<const RowMatrix>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace mercer

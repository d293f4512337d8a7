#include "core/base/process/row_vectors.h"

#include <array>
#include <cmath>

#include "core/base/numeric/row_blocks.h"
#include "core/base/process/row_sums.h"

namespace mercer {
namespace {

// The sum of term(i) for i in [begin, end), in eight sums side by side: a chain of additions to one
// would wait for each.
template <typename Term>
double SumOfTerms(Index begin, Index end, const Term& term) {
  constexpr Index kSums = 8;
  std::array<double, kSums> sums = {};
  Index i = begin;
  for (; i + kSums <= end; i += kSums) {
    for (Index k = 0; k < kSums; ++k) {
      sums[static_cast<size_t>(k)] += term(i + k);
    }
  }
  for (Index k = 0; i < end; ++i, ++k) {
    sums[static_cast<size_t>(k)] += term(i);
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

template <typename Term>
double SumTermsOverRows(Index rows, const Term& term) {
  return SumOverRows(rows, kRowBlock, 0.0, [&](Index begin, Index end, double& sum) {
    sum = SumOfTerms(begin, end, term);
  });
}

}  // namespace

double SumOfRows(const ConstVectorRef& a) {
  const double* const values = a.data();
  return SumTermsOverRows(a.size(), [values](Index i) { return values[i]; });
}

double AbsoluteSumOfRows(const ConstVectorRef& a) {
  const double* const values = a.data();
  return SumTermsOverRows(a.size(), [values](Index i) { return std::abs(values[i]); });
}

double DotOfRows(const ConstVectorRef& a, const ConstVectorRef& b) {
  const double* const x = a.data();
  const double* const y = b.data();
  return SumTermsOverRows(a.size(), [x, y](Index i) { return x[i] * y[i]; });
}

double SquaredNormOfRows(const ConstVectorRef& a) { return DotOfRows(a, a); }

double SquaredNormOfColumns(const ConstMatrixRef& a) {
  double sum = 0;
  for (Index j = 0; j < a.cols(); ++j) {
    sum += SquaredNormOfRows(a.col(j));
  }
  return sum;
}

double SquaredDistanceOfRows(const ConstVectorRef& a, const ConstVectorRef& b) {
  const double* const x = a.data();
  const double* const y = b.data();
  return SumTermsOverRows(a.size(), [x, y](Index i) { return (x[i] - y[i]) * (x[i] - y[i]); });
}

double SumOfListedRows(absl::Span<const Index> rows, const ConstVectorRef& values) {
  const double* const of_rows = values.data();
  PairwiseSum<double> tree;
  for (const RowPiece& piece : PiecesOfList(rows)) {
    tree.Add(piece.number, SumOfTerms(piece.begin, piece.begin + piece.count,
                                      [of_rows](Index j) { return of_rows[j]; }));
  }
  return tree.Total(0.0);
}

}  // namespace mercer

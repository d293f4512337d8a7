// Sums of many exponentials of one distance by one table: phi(t) = sum_k w_k exp(-g_k t) is a
// single smooth function of t.
//
// t >= 0 is cut into intervals, 16 per octave, from t_min = 1 / (16 g_max), below which all
// exponentials are nearly straight, to t_max = 45 / g_min, beyond which they vanish. On each
// interval phi is interpolated by a polynomial of degree 7 at Chebyshev nodes. On [a, a + h] the
// error of exp(-g t) is at most 2 e^(-g a) (g h / 4)^8 / 8!, below 1e-15 for h = a / 16 and every
// g. So one table look-up takes the place of all the exponentials, and the transpose of the
// look-up, which scatters weights of pairs onto the nodes, yields sum_pairs weight exp(-g_k t) for
// all k from one pass over the pairs.
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// From this number of exponentials on a look-up is faster than they are.
inline constexpr size_t kTableKernels = 8;

class ExponentialGrid {
 public:
  static constexpr Index kNodes = 8;

  // The grid for rates in [min_rate, max_rate]. Null when they span too many octaves (or are 0):
  // then the exponentials themselves are the faster way.
  static std::shared_ptr<const ExponentialGrid> Make(double min_rate, double max_rate);

  // How many doubles hold the values of a function at nodes(), or weights of them.
  Index num_values() const { return num_intervals_ * kNodes; }
  const Vector& nodes() const { return nodes_; }

  // Turns values at the nodes into polynomial coefficients, in place.
  void ToCoefficients(absl::Span<double> values) const;
  // Adds phi(values(r, c)) to out(r, c), phi given by its coefficients. Layout as in vector_math.h;
  // the strip's values are >= 0.
  void AddValues(const Strip& strip, const double* coefficients, double* out) const;

  // Adds to `moments` the sum of row_weights[r] column_weights[c] times the basis polynomials at
  // values(r, c); column_weights is padded with zeros.
  void AddMoments(const Strip& strip, RowLengths lengths, const double* row_weights,
                  const double* column_weights, double* moments) const;
  // Turns moments into weights of the nodes, in place: for every function phi of the table, sum
  // over pairs of weight phi(t) = sum over nodes of weight phi(node). One pass over the pairs thus
  // serves all kernels.
  void ToNodeWeights(absl::Span<double> moments) const;

  // Where the intervals are, for the vector loops. Interval 0 is [0, first); interval i >= 1 starts
  // at the number whose leading bits are first_bits + i - 1; the last one reaches to infinity.
  struct Layout {
    double first = 0;
    double inverse_first = 0;
    int64_t first_bits = 0;
    int64_t last_interval = 0;
  };

 private:
  ExponentialGrid() = default;

  Layout layout_;
  Index num_intervals_ = 0;
  Vector nodes_;
};

}  // namespace mercer

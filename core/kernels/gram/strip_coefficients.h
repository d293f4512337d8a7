// The coefficients of a function at the rows of its basis, laid out for products with values of
// kernels that lie row by row.
#pragma once

#include <cstddef>
#include <vector>

#include <Eigen/SparseCore>

#include "core/base/numeric/types.h"
#include "core/linalg/vector_math.h"

namespace mercer {

// Panels of kWidth rows of the basis. An output that has a coefficient at many rows of a panel is
// kept whole there, so that its products are those of vectors; of the others only what is not zero
// is kept. Immutable and safe for concurrent use.
class StripCoefficients {
 public:
  static constexpr Index kWidth = 256;

  // `coefficients` is basis x outputs; output j is added to the column targets[j] of the values.
  StripCoefficients(const Eigen::SparseMatrix<double>& coefficients,
                    const std::vector<int>& targets);

  Index num_outputs() const { return num_outputs_; }
  size_t MemoryBytes() const;

  // values(r, targets[j]) += factors(j) sum_c strip(r, c) coefficients(column + c, j) for all
  // outputs j with a factor other than 0. `column` is a multiple of kWidth. What is added to a row
  // does not depend on the rows beside it, nor on whether its columns come at once or panel by
  // panel. Where a value of the strip is not finite, the sum of an output need not be, also of one
  // that has no coefficient there.
  void AddProducts(Index column, const Strip& strip, ConstVectorRef factors,
                   MatrixRef values) const;

 private:
  // An output in a panel.
  struct Output {
    Index number = 0;
    int target = 0;
    size_t end = 0;  // of its entries, which follow those of the output before
  };
  struct Entry {
    int column = 0;  // within the panel
    double value = 0;
  };
  struct Panel {
    std::vector<Output> whole;
    std::vector<double> values;  // of `whole`: kWidth each
    std::vector<Output> sparse;
    std::vector<Entry> entries;  // of `sparse`
  };

  static Panel MakePanel(const std::vector<std::vector<Entry>>& of_outputs,
                         const std::vector<int>& targets, Index width);
  static void AddWhole(const Panel& panel, const Strip& strip, ConstVectorRef factors,
                       MatrixRef values);
  static void AddSparse(const Panel& panel, const Strip& strip, ConstVectorRef factors,
                        MatrixRef values);

  Index num_outputs_ = 0;
  std::vector<Panel> panels_;
};

}  // namespace mercer

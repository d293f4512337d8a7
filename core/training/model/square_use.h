// What a model reads of the square blocks of rows to predict: kernels without a weight are not
// asked for, nor are the columns of training rows without a coefficient.
#pragma once

#include <string>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/data/table/dataset.h"
#include "core/training/model/model.h"

namespace mercer {

struct SquareUse {
  std::string name;
  SquareKind kind = SquareKind::kKernel;
  // Its columns that are read, ascending: numbers of rows of the training data set.
  std::vector<Index> columns;
};

// Of a consistent model (CheckModel), by name. A block that was repaired
// by its eigenvectors is read at all rows that were trained on.
std::vector<SquareUse> SquaresInUse(const Model& model);

// Whether a kernel of the model reads the only block of its kind among several, without naming it:
// models of before do. Such blocks are not among those in use.
bool ReadsUnnamedSquare(const Model& model);

}  // namespace mercer

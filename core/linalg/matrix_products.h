// Products of tall matrices, cut into pieces that are short and run in parallel. The pieces depend
// on shapes only.
#pragma once

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// out = a'b. Errors: kCancelled.
absl::Status TransposedProduct(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                               RunContext& context);
// Of a square product, the lower triangle; the strict upper one is arbitrary.
absl::Status LowerTransposedProduct(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                                    RunContext& context);
// The whole by the calling thread, for use within a task of a parallel loop. Ends early, with values
// of no use, once cancelled.
void TransposedProductOfTask(const ConstMatrixRef& a, const ConstMatrixRef& b, MatrixRef out,
                             const RunContext& context);
// out += scale a b. Errors: kCancelled.
absl::Status AddProduct(double scale, const ConstMatrixRef& a, const ConstMatrixRef& b,
                        MatrixRef out, RunContext& context);

// The lower triangle of root'middle root, for a lower triangular root; the strict upper triangle of
// `out` is arbitrary. Of the symmetric `middle` only the lower triangle is read. Errors:
// kCancelled.
absl::Status TriangularCongruence(const ConstMatrixRef& middle, const ConstMatrixRef& root,
                                  MatrixRef out, RunContext& context);

}  // namespace mercer

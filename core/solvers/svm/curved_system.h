// The linear system of one Newton step for losses with a curvature (curved_svm.h), for kernels
// whose entries are asked for and for kernels of explicit features.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"

namespace mercer {

struct CurvedStep {
  std::vector<Index> rows;  // J: the samples whose loss is curved, ascending
  Vector curvature;         // D > 0 of each of them
  Vector gradient;          // g, of all samples
  Vector products;          // of g, as Multiply makes them
  double sum = 0;           // that the multipliers are to have
};

struct CurvedDirection {
  Vector multipliers;  // lam, of the rows J
  double bias = 0;     // db
  // Where weights are kept, dv = X'g - X_J'lam, and X dv of all samples.
  Vector weights = {};
  Vector scores = {};
};

// A function f = K eta on features, f = X v with v = X'eta, may be kept by v as well: v has the
// rounding of its own size, while X'eta has that of eta, which is as large as the costs. Then X'c
// stands for c wherever K c does elsewhere: c'K c is its squared norm.
//
// Not thread-safe. What it was made of must outlive it.
class CurvedSystem {
 public:
  virtual ~CurvedSystem() = default;

  virtual Index size() const = 0;  // of the kernel
  // How many weights a function has, where they are kept.
  virtual std::optional<Index> num_weights() const { return std::nullopt; }
  // products = X'coefficients where weights are kept, K coefficients elsewhere. Errors: kCancelled.
  virtual absl::Status Multiply(const Vector& coefficients, Vector& products,
                                RunContext& context) const = 0;
  // scores = X weights, where weights are kept. Errors: kCancelled.
  virtual absl::Status Score(const Vector& /*weights*/, Vector& /*scores*/,
                             RunContext& /*context*/) const {
    return absl::InternalError("no weights are kept");
  }
  // (1 / D + K_JJ) lam = (K g)_J + db 1,  1'lam = sum.  A system that is singular in floating point
  // gets a larger diagonal; when even that does not help lam = 0 and db = 0. Errors: kCancelled.
  virtual absl::Status Solve(const CurvedStep& step, CurvedDirection& direction,
                             RunContext& context) const = 0;
  // About how many floating point operations Solve takes for so many rows.
  virtual double Cost(Index rows) const = 0;
};

// Of the kernel, on its features if it has some.
std::unique_ptr<CurvedSystem> MakeCurvedSystem(const KernelOperator& kernel);
// Of the kernel X X' of the rows of X, in double precision; keeps weights.
std::unique_ptr<CurvedSystem> MakeFeatureSystem(const Matrix& features);

}  // namespace mercer

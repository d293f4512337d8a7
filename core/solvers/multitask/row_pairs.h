// A machine of fixed weights of its blocks, moved along pairs of rows: what one dual variable gains
// another one loses, so that their sum stays 0 and the bias asks for nothing else.
//
// Of columns no Gram matrix is formed: with z_i the row i of the columns in use, each times the
// root of its block's weight, the dual a has the image X'a = sum_i a_i z_i, and scores are its
// products with the rows; a step reads two rows and writes the image. Of other kernels the image is
// K a, and a step reads two columns of the combined K.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"

namespace mercer {

struct RowPair {
  Index up = 0;        // whose dual variable grows
  Index down = 0;      // whose dual variable falls by as much
  double targets = 0;  // y_up - y_down
  double room = 0;     // the longest step that leaves both in their boxes
};

// Immutable but for its memory of a step. Not thread-safe. Same bits for every number of threads.
class RowPairs {
 public:
  virtual ~RowPairs() = default;

  virtual Index image_size() const = 0;
  // Errors of all operations: kCancelled.
  virtual absl::StatusOr<Vector> ImageOf(const Vector& dual, RunContext& context) const = 0;
  // K a, a score for each row.
  virtual absl::StatusOr<Vector> ScoresOf(const Vector& image, RunContext& context) const = 0;
  // Moves the image by the step at which 1/2 a'K a - y'a is least, at most the room, and returns
  // that; 0 where the slope does not fall.
  virtual absl::StatusOr<double> Descend(const RowPair& pair, Vector& image,
                                         RunContext& context) = 0;
};

// Of blocks that must outlive this; blocks of weight 0 cost nothing.
absl::StatusOr<std::unique_ptr<RowPairs>> MakeRowPairs(const KernelFamily& blocks,
                                                       const Vector& weights, RunContext& context);

}  // namespace mercer

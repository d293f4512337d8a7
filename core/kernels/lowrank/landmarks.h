// Landmarks: the few rows or points through which a low-rank kernel sees all others.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

enum class LandmarkSelection : uint8_t {
  kUniform = 0,          // rows drawn without replacement
  kKMeans = 1,           // centres of k-means: points that need not be rows; not for square blocks
  kLeverage = 2,         // rows drawn by approximate leverage scores: kernel_landmarks.h
  kPivotedCholesky = 3,  // pivots of an incomplete Cholesky factor: ibidem; may be fewer
};

// The landmarks of one kernel alone.
struct KernelLandmarks {
  std::vector<Index> places;  // which of all landmarks
  // The factor's map from the kernel's values at them, where what chose them made a factor; null:
  // Nystrom's is to be made (nystrom.h).
  std::shared_ptr<const Matrix> map;
};

struct Landmarks {
  // The landmarks, one in each row, with their square blocks where landmarks are rows.
  std::shared_ptr<const PreparedData> data;
  // The row of the inputs that each landmark is, ascending; empty for centres.
  std::vector<Index> rows;
  // Those of each kernel; empty: all kernels share all of them.
  std::vector<KernelLandmarks> of_kernel;

  bool shared() const { return of_kernel.empty(); }
  // The landmarks of kernel k, in the order of its places, and so are their rows.
  Landmarks Of(size_t k) const;
};

// `count` landmarks (all rows when there are fewer) for `kernels` between the rows of `inputs`:
// docs/mathematics/README.md, section 7. Centres are those of all columns of all feature blocks
// together, after 10 steps of Lloyd's method on at most 50 rows for each, from a uniform draw. The
// same for equal inputs and seed. Errors: kInvalidArgument (where the kernels matter, and do not
// fit the inputs), kCancelled.
absl::StatusOr<Landmarks> SelectLandmarks(const PreparedData& inputs,
                                          const std::vector<KernelSpec>& kernels,
                                          LandmarkSelection selection, Index count, uint64_t seed,
                                          RunContext& context);

// The same for each kernel alone, by what it sees; where all rows are landmarks they are shared. For
// kLeverage and kPivotedCholesky.
absl::StatusOr<Landmarks> SelectOwnLandmarks(const PreparedData& inputs,
                                             const std::vector<KernelSpec>& kernels,
                                             LandmarkSelection selection, Index count,
                                             uint64_t seed, RunContext& context);

// At most `count` pivots of each kernel alone, with its incomplete Cholesky factor on them: while a
// row has more than `threshold` of the kernel's largest value left (kernel_landmarks.h). Errors:
// kInvalidArgument naming "kernels[k]" (kernels that do not fit the inputs; reason NOT_PSD),
// kCancelled.
absl::StatusOr<Landmarks> PivotedLandmarks(const PreparedData& inputs,
                                           const std::vector<KernelSpec>& kernels, Index count,
                                           double threshold, RunContext& context);

// Upper bound on the rows that selecting `count` of `rows` has copies of at a time, besides the
// landmarks.
Index LandmarkSampleRows(LandmarkSelection selection, Index rows, Index count);

// The rows `rows` of `inputs` as landmarks.
Landmarks LandmarksFromRows(const PreparedData& inputs, std::vector<Index> rows);

// `count` different numbers below `size`, ascending.
std::vector<Index> DrawRows(Index size, Index count, uint64_t seed, std::string_view purpose);

}  // namespace mercer

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

struct Landmarks {
  // The landmarks, one in each row, with their square blocks where landmarks are rows.
  std::shared_ptr<const PreparedData> data;
  // The row of the inputs that each landmark is, ascending; empty for centres.
  std::vector<Index> rows;
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

// Upper bound on the rows that selecting `count` of `rows` has copies of at a time, besides the
// landmarks.
Index LandmarkSampleRows(LandmarkSelection selection, Index rows, Index count);

// The rows `rows` of `inputs` as landmarks.
Landmarks LandmarksFromRows(const PreparedData& inputs, std::vector<Index> rows);

// `count` different numbers below `size`, ascending.
std::vector<Index> DrawRows(Index size, Index count, uint64_t seed, std::string_view purpose);

}  // namespace mercer

// Small tables and families that several tests of features share.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/features/feature_family_spec.h"
#include "core/features/feature_rows.h"

namespace mercer {

inline RowMatrix NormalRows(Index rows, Index columns, uint64_t seed) {
  RowMatrix values(rows, columns);
  RandomStream random(seed, "feature-rows");
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      values(i, j) = random.Normal();
    }
  }
  return values;
}

// One block for each of `blocks`.
inline std::shared_ptr<const PreparedData> Prepared(std::vector<RowMatrix> blocks) {
  auto data = std::make_shared<PreparedData>();
  data->rows = blocks[0].rows();
  for (size_t b = 0; b < blocks.size(); ++b) {
    PreparedBlock& block = data->blocks.emplace_back();
    block.name = absl::StrCat("block", b);
    block.values = SharedMatrix(std::move(blocks[b]));
  }
  return data;
}

inline FeatureRows AllRows(RowMatrix values) {
  std::vector<RowMatrix> blocks;
  blocks.push_back(std::move(values));
  return FeatureRows(Prepared(std::move(blocks)));
}

// The candidates of a round.
inline std::vector<FeatureParameters> Drawn(const FeatureFamily& family, uint64_t seed,
                                            uint64_t round) {
  return family.Draw(seed, round, RunContext()).value();
}

// A family that the spec allows.
inline std::shared_ptr<const FeatureFamily> Family(const FeatureFamilySpec& spec,
                                                   Index num_inputs) {
  return MakeFeatureFamily(spec, num_inputs).value();
}

inline std::shared_ptr<const FeatureFamily> Fourier(Index num_inputs, double bandwidth = 1.0) {
  FeatureFamilySpec spec;
  spec.bandwidths = {bandwidth};
  return Family(spec, num_inputs);
}

inline std::shared_ptr<const FeatureFamily> Columns(Index num_inputs) {
  FeatureFamilySpec spec;
  spec.kind = FeatureFamilyKind::kColumns;
  return Family(spec, num_inputs);
}

}  // namespace mercer

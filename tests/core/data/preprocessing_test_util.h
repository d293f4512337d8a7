// Data sets for the tests of preprocessing.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/data/preprocess/preprocessing.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {

inline std::vector<Index> AllRows(const Dataset& dataset) { return IndexRange(0, dataset.rows); }

inline Dataset Csv(const std::string& text, std::vector<BlockColumns> blocks = {}) {
  CsvOptions options;
  options.allow_missing = true;
  options.blocks = std::move(blocks);
  auto dataset = ReadCsvText(text, options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

inline Dataset DenseRows(RowMatrix values, const std::string& block_name = "features") {
  Dataset dataset;
  dataset.rows = values.rows();
  FeatureBlock block;
  block.name = block_name;
  block.values = SharedMatrix(std::move(values));
  dataset.blocks.push_back(std::move(block));
  return dataset;
}

inline Dataset WithoutFeatures() {
  Dataset dataset;
  dataset.rows = 1;
  return dataset;
}

inline RowMatrix FitAndApply(const Dataset& dataset, const PreprocessingOptions& options) {
  const auto fitted = Preprocessing::Fit(dataset, AllRows(dataset), options, RunContext());
  EXPECT_TRUE(fitted.ok()) << fitted.status();
  const auto prepared = fitted->Apply(dataset, RunContext());
  EXPECT_TRUE(prepared.ok()) << prepared.status();
  return prepared->blocks[0].values.view();
}

}  // namespace mercer

#include <bit>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Text of up to five characters with everything that CSV must escape. Never empty: an empty cell
// means "missing".
std::string RandomText(RandomStream& random) {
  const std::vector<std::string> alphabet = {"a",  "b", "\"", ",", ";", "\n",
                                             "\r", " ", "\t", "é", "7", "."};
  std::string text;
  const uint64_t length = 1 + random.Below(5);
  for (uint64_t i = 0; i < length; ++i) {
    text += alphabet[random.Below(alphabet.size())];
  }
  return text;
}

double RandomNumber(RandomStream& random) {
  const double value = std::bit_cast<double>(random.NextUint64());
  return random.Below(8) == 0 ? kNan : std::isfinite(value) ? value : random.Normal();
}

// A column whose dictionary is in order of first appearance, as the reader makes it.
Vector RandomColumn(RandomStream& random, Index rows, ColumnSchema& schema) {
  Vector values(rows);
  for (Index row = 0; row < rows; ++row) {
    if (!schema.categorical) {
      values(row) = RandomNumber(random);
      continue;
    }
    if (random.Below(10) == 0) {
      values(row) = kNan;
      continue;
    }
    const std::string text = random.Below(6) == 0 ? "NA" : RandomText(random);
    const auto found = std::find(schema.categories.begin(), schema.categories.end(), text);
    values(row) = static_cast<double>(found - schema.categories.begin());
    if (found == schema.categories.end()) {
      schema.categories.push_back(text);
    }
  }
  return values;
}

struct Sample {
  Dataset dataset;
  CsvOptions options;  // that read it back
};

Sample RandomSample(uint64_t seed) {
  RandomStream random(seed, "csv-round-trip");
  Sample sample;
  sample.options.allow_missing = true;
  sample.options.delimiter = std::string(",;\t|")[random.Below(4)];
  const auto rows = static_cast<Index>(1 + random.Below(30));
  const auto columns = static_cast<Index>(1 + random.Below(5));
  sample.dataset.rows = rows;
  FeatureBlock block;
  block.name = kDefaultBlock;
  RowMatrix values(rows, columns);
  for (Index column = 0; column < columns; ++column) {
    ColumnSchema schema;
    std::string name = RandomText(random) + std::to_string(column);
    std::erase_if(name, [](char c) { return c == '\n' || c == '\r'; });
    schema.name = name;
    schema.categorical = random.Below(2) == 0;
    (schema.categorical ? sample.options.categorical : sample.options.numeric).push_back(name);
    values.col(column) = RandomColumn(random, rows, schema);
    block.columns.push_back(schema);
  }
  block.values = SharedMatrix(std::move(values));
  sample.dataset.blocks.push_back(std::move(block));
  if (random.Below(2) == 0) {
    ColumnSchema schema{"target, \"quoted\"", true, {}};
    const Vector target = RandomColumn(random, rows, schema);
    sample.options.categorical.push_back(schema.name);
    sample.options.roles[schema.name] = ColumnRole::kTarget;
    sample.dataset.role_columns.push_back({ColumnRole::kTarget, schema, target});
  }
  return sample;
}

TEST(CsvRoundTripTest, RandomDataSetsReadBackBitForBit) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const Sample sample = RandomSample(seed);
    const std::string text = WriteCsv(sample.dataset, sample.options.delimiter);
    const auto read = ReadCsvText(text, sample.options);
    ASSERT_TRUE(read.ok()) << "seed " << seed << ": " << read.status() << "\n" << text;
    EXPECT_EQ(Encode(*read), Encode(sample.dataset)) << "seed " << seed << "\n" << text;
  }
}

TEST(CsvRoundTripTest, WritesSparseBlocksDense) {
  const auto dataset = ReadSvmlightText("1 2:5 9:1\n-1 3:4.5\n");
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_TRUE(dataset->blocks[0].is_sparse);
  EXPECT_EQ(WriteCsv(*dataset),
            "1,2,3,4,5,6,7,8,9,label\n0,5,0,0,0,0,0,0,1,1\n0,0,4.5,0,0,0,0,0,0,-1\n");
}

TEST(CsvRoundTripTest, NamesOfSeveralBlocksStayDistinct) {
  Dataset dataset;
  dataset.rows = 1;
  for (const char* name : {"left", "right"}) {
    FeatureBlock block;
    block.name = name;
    block.columns = {{"x", false, {}}};
    block.values = SharedMatrix(RowMatrix::Constant(1, 1, 2));
    dataset.blocks.push_back(block);
  }
  EXPECT_EQ(WriteCsv(dataset), "x,right.x\n2,2\n");
}

}  // namespace
}  // namespace mercer

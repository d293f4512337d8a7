#include "client/cpp/cli/dataset_text.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::Dataset DatasetOf(const std::string& text) {
  v1::Dataset dataset;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &dataset)) << text;
  return dataset;
}

TEST(DatasetTextTest, QualitySaysWhatIsOddAndWhere) {
  const v1::Dataset dataset = DatasetOf(R"(quality {
    num_missing_columns: 1 num_missing_cells: 3
    missing { column { block: "features" position: 1 name: "age" } count: 3 rows: 2 rows: 9 }
    num_constant_columns: 7
    constant_columns { block: "words" position: 5 }
    num_nearly_constant_columns: 1
    nearly_constant_columns { column { block: "features" position: 2 name: "unit" } value: "kg" exceptions: 2 }
    num_identifier_columns: 1
    identifier_columns { block: "features" position: 3 name: "id" }
    num_text_columns: 2
    text_columns { column { block: "features" position: 4 name: "day" } holds: "dates" }
    text_columns { column { position: 1 name: "y" } holds: "numbers with a comma" }
    num_duplicate_rows: 2 num_conflicting_rows: 1
    duplicate_rows { row: 7 equal_to: 3 conflicting: true } duplicate_rows { row: 8 equal_to: 3 }
    num_equal_columns: 1
    equal_columns { column { block: "b" position: 1 name: "x" } equal_to { block: "a" position: 1 name: "x" } }
    num_leaking_columns: 2
    leaking_columns { column { block: "b" position: 2 name: "copy" } target { position: 1 name: "y" } equal: true }
    leaking_columns { column { block: "b" position: 3 name: "code" } target { position: 1 name: "y" } }
    smallest_scale { column { block: "b" position: 4 name: "share" } range: 0.5 }
    largest_scale { column { block: "b" position: 5 name: "income" } range: 100000 } })");
  EXPECT_EQ(
      FormatDatasetQuality(dataset),
      "quality\n"
      "  1 columns with missing cells: features/age 3 (rows 2, 9, ...)\n"
      "  7 constant columns: words/[5]; 6 more\n"
      "  1 nearly constant columns: features/unit is kg but in 2 rows\n"
      "  1 columns that look like identifiers of the rows; upload them as ignored: features/id\n"
      "  2 columns that are read as texts, each value a category of its own: "
      "features/day holds dates; y holds numbers with a comma\n"
      "  2 rows that repeat an earlier one, 1 of them with another target: 7 = 3; 8 = 3\n"
      "  1 columns that repeat another one: b/x = a/x\n"
      "  2 columns that tell the target: b/copy equals y; b/code gives away y\n"
      "  scales differ widely: b/share spans 0.5, b/income 100000\n");
}

TEST(DatasetTextTest, QualityOfGoodAndOfOldDataSets) {
  EXPECT_EQ(FormatDatasetQuality(DatasetOf("quality { }")), "quality  nothing to remark\n");
  EXPECT_EQ(FormatDatasetQuality(DatasetOf("")),
            "quality  not known: the data set was stored by an earlier version\n");
}

}  // namespace
}  // namespace mercer::client

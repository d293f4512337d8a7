#include "client/cpp/row_pieces.h"

#include <cstring>
#include <string>

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::Rows ParseRows(const std::string& text) {
  v1::Rows rows;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &rows)) << text;
  return rows;
}

// Three rows in every form.
v1::Rows RowsOfAllForms() {
  v1::Rows rows = ParseRows(R"(
    dense { name: "d" columns: ["x", "y"] values { rows: 3 columns: 2 values: [1, 2, 3, 4, 5, 6] } }
    sparse { name: "s" num_columns: 9 row_starts: [0, 2, 2, 3] column_indices: [0, 8, 4] values: [1, 2, 3] }
    columns { name: "n" numbers { values: [1, 2, 3] } }
    columns { name: "t" texts { values: ["a", "b", "c"] } }
    squares { name: "q" values { rows: 3 columns: 1 } training_rows: 5 }
    tasks: ["u", "v", "w"])");
  const double values[] = {7.0, 8.0, 9.0};
  rows.mutable_squares(0)->mutable_values()->set_raw(values, sizeof(values));
  return rows;
}

TEST(RowPiecesTest, SlicesHoldTheirRowsInEveryForm) {
  const v1::Rows rows = RowsOfAllForms();
  ASSERT_EQ(CountRows(rows), 3);
  v1::Rows wanted = ParseRows(R"(
    dense { name: "d" columns: ["x", "y"] values { rows: 2 columns: 2 values: [3, 4, 5, 6] } }
    sparse { name: "s" num_columns: 9 row_starts: [0, 0, 1] column_indices: 4 values: 3 }
    columns { name: "n" numbers { values: [2, 3] } }
    columns { name: "t" texts { values: ["b", "c"] } }
    squares { name: "q" values { rows: 2 columns: 1 } training_rows: 5 }
    tasks: ["v", "w"])");
  const double values[] = {8.0, 9.0};
  wanted.mutable_squares(0)->mutable_values()->set_raw(values, sizeof(values));
  const v1::Rows slice = SliceRows(rows, 1, 2);
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(slice, wanted))
      << slice.DebugString();
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals(SliceRows(rows, 0, 3), rows));
}

// The server says what is wrong with them.
TEST(RowPiecesTest, RowsThatContradictThemselvesCannotBeCut) {
  for (const char* const text : {
           "",
           "columns { texts { values: ['a', 'b'] } } columns { texts { values: 'a' } }",
           "columns { texts { values: ['a', 'b'] } } columns {}",
           "columns { texts { values: ['a', 'b'] } } tasks: 'a'",
           "dense { values { rows: 2 columns: 2 values: [1, 2, 3] } }",
           "dense { values { rows: 2 columns: 2 values: [1, 2] } }",
           "dense { values { rows: -1 columns: -1 values: 1 } }",
           "dense { values { rows: 9223372036854775807 columns: 2 } }",
           "squares { values { rows: 4611686018427387904 columns: 4 raw: '12345678' } }",
           "sparse {}",
           "sparse { row_starts: [0, 5] column_indices: 0 values: 1 }",
           "sparse { row_starts: [0, 9, 1] column_indices: 0 values: 1 }",
           "sparse { row_starts: [-1, 1] column_indices: 0 values: 1 }",
           "sparse { row_starts: [0, 1] values: 1 }",
       }) {
    EXPECT_EQ(CountRows(ParseRows(text)), 0) << text;
  }
}

TEST(RowPiecesTest, WhatCannotBeCutIsSentAsItIs) {
  const v1::Rows odd =
      ParseRows("columns { texts { values: ['a', 'b'] } } columns { texts { values: 'a' } }");
  int batch = 0;
  const RowsSource source = [&]() -> absl::StatusOr<v1::Rows> {
    ++batch;
    return batch == 1 ? RowsOfAllForms() : batch == 2 ? odd : v1::Rows();
  };
  RowPieces pieces(source);
  EXPECT_EQ((*pieces.Next())->rows().columns(1).texts().values_size(), 3);
  EXPECT_TRUE(pieces.Halve());
  for (const char* const cell : {"a", "b", "c"}) {
    const auto piece = pieces.Next();
    ASSERT_EQ((*piece)->rows().columns(1).texts().values_size(), 1);
    EXPECT_EQ((*piece)->rows().columns(1).texts().values(0), cell);
    EXPECT_FALSE(pieces.Halve());
  }
  EXPECT_TRUE(google::protobuf::util::MessageDifferencer::Equals((*pieces.Next())->rows(), odd));
  EXPECT_FALSE(pieces.Halve());
  EXPECT_EQ(*pieces.Next(), nullptr);
}

}  // namespace
}  // namespace mercer::client

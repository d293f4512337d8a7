#include "core/training/targets/output_coding.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/status/errors.h"
#include "core/training/targets/label_names.h"
#include "tests/support/source_folder.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

std::vector<Index> AllRows(const RoleColumn& column) {
  std::vector<Index> rows;
  for (Index i = 0; i < column.values.size(); ++i) {
    rows.push_back(i);
  }
  return rows;
}

RoleColumn Labels(const std::vector<double>& values) {
  return NumericColumn(ColumnRole::kTarget, "label",
                       Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size())));
}

OutputCoding Coding(const RoleColumn& labels, CodingChoice choice = CodingChoice::kAuto) {
  const absl::StatusOr<OutputCoding> coding =
      OutputCoding::FromLabels(labels, AllRows(labels), choice, RunContext());
  EXPECT_TRUE(coding.ok()) << coding.status();
  return coding.value_or(OutputCoding());
}

TEST(OutputCodingTest, NumericLabelsAreSortedByValueAndOthersAsText) {
  EXPECT_EQ(Coding(Labels({10, 9, -1, 10})).classes(), (std::vector<std::string>{"-1", "9", "10"}));
  RoleColumn text = Labels({0, 1, 2});
  text.schema.categorical = true;
  text.schema.categories = {"spam", "10", "9"};
  EXPECT_EQ(Coding(text).classes(), (std::vector<std::string>{"10", "9", "spam"}));
}

TEST(OutputCodingTest, LabelsHaveTheShortestTextThatReadsBack) {
  EXPECT_EQ(FormatLabel(3), "3");
  EXPECT_EQ(FormatLabel(-1), "-1");
  EXPECT_EQ(FormatLabel(-0.0), "0");
  EXPECT_EQ(FormatLabel(0.5), "0.5");
  EXPECT_EQ(FormatLabel(0.1), "0.1");
  EXPECT_EQ(FormatLabel(100000), "100000");
  EXPECT_EQ(std::stod(FormatLabel(1.0 / 3)), 1.0 / 3);
  EXPECT_EQ(std::stod(FormatLabel(1e300)), 1e300);
}

TEST(OutputCodingTest, TwoClassesAreBinaryWhateverTheChoice) {
  for (const CodingChoice choice :
       {CodingChoice::kAuto, CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    const OutputCoding coding = Coding(Labels({1, -1, 1}), choice);
    EXPECT_EQ(coding.kind(), CodingKind::kBinary);
    EXPECT_EQ(coding.num_outputs(), 1);
    EXPECT_EQ(coding.OutputName(0), "1");
    EXPECT_EQ(coding.Decide(Vector{{-1e-9, 0.0, 2.0}}), (std::vector<int>{0, 1, 1}));
  }
}

TEST(OutputCodingTest, RefusesOneClassNoRowsAndTooManyClasses) {
  const RoleColumn one = Labels({4, 4});
  const absl::Status one_class =
      OutputCoding::FromLabels(one, AllRows(one), CodingChoice::kAuto, RunContext()).status();
  EXPECT_EQ(one_class.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(GetReason(one_class), "ONE_CLASS");
  EXPECT_NE(one_class.message().find("'4'"), std::string::npos) << one_class;
  EXPECT_EQ(
      GetReason(OutputCoding::FromLabels(one, {}, CodingChoice::kAuto, RunContext()).status()),
      "ONE_CLASS");

  const RoleColumn many =
      NumericColumn(ColumnRole::kTarget, "label", Vector::LinSpaced(1001, 0, 1000));
  EXPECT_EQ(
      GetReason(OutputCoding::FromLabels(many, AllRows(many), CodingChoice::kAuto, RunContext())
                    .status()),
      "TOO_MANY_CLASSES");
}

TEST(OutputCodingTest, NamesTheRowOfAMissingLabel) {
  const RoleColumn labels = Labels({1, 2, std::nan(""), 1});
  const absl::Status missing =
      OutputCoding::FromLabels(labels, AllRows(labels), CodingChoice::kAuto, RunContext()).status();
  EXPECT_EQ(GetReason(missing), "BAD_LABEL");
  EXPECT_NE(missing.message().find("row 3, column 'label'"), std::string::npos) << missing;
}

TEST(OutputCodingTest, UnknownLabelsHaveNoClass) {
  const OutputCoding coding = Coding(Labels({1, 2, 3}));
  EXPECT_EQ(*coding.Classes(Labels({3, 4, std::nan(""), 1}), RunContext()),
            (std::vector<int>{2, -1, -1, 0}));
  RoleColumn text = Labels({0, 1});
  text.schema.categorical = true;
  text.schema.categories = {"2", "x"};
  EXPECT_EQ(*coding.Classes(text, RunContext()), (std::vector<int>{1, -1}));
}

TEST(OutputCodingTest, OneVsAllTiesGoToTheSmallerClass) {
  const OutputCoding coding = Coding(Labels({1, 2, 3}));
  EXPECT_EQ(coding.Decide(Matrix{{-1, 2, 2}, {0, 0, 0}, {-3, -2, -1}}),
            (std::vector<int>{1, 0, 2}));
}

TEST(OutputCodingTest, OneVsOneVotesThenMarginsThenTheSmallerClass) {
  const OutputCoding coding = Coding(Labels({1, 2, 3}), CodingChoice::kOneVsOne);
  ASSERT_EQ(coding.num_outputs(), 3);
  EXPECT_EQ(coding.Pair(2), (std::pair<int, int>(1, 2)));
  EXPECT_EQ(coding.OutputName(1), "1 vs 3");
  // Pairs 1-2, 1-3, 2-3. Two votes for class 2; a cycle that the margins decide; a cycle with equal
  // margins; a value of 0 votes for the larger class of its pair.
  const Matrix values{{-1, -1, 1}, {1, -3, 1}, {1, -1, 1}, {0, 1, 1}};
  EXPECT_EQ(coding.Decide(values), (std::vector<int>{1, 2, 0, 1}));
}

TEST(OutputCodingTest, PairsCountAllOutputs) {
  const OutputCoding coding = Coding(Labels({1, 2, 3, 4, 5}), CodingChoice::kOneVsOne);
  Index output = 0;
  for (int first = 0; first < 5; ++first) {
    for (int second = first + 1; second < 5; ++second) {
      EXPECT_EQ(coding.Pair(output++), (std::pair<int, int>(first, second)));
    }
  }
  EXPECT_EQ(coding.num_outputs(), output);
}

TEST(OutputCodingTest, AgreesWithTheReferenceVotesAndPredictions) {
  std::ifstream file(SourceFolder() / "tests/fixtures/lowrank-lp-mkl/multiclass.json");
  ASSERT_TRUE(file.good());
  const nlohmann::json fixture = nlohmann::json::parse(file);
  const auto labels = fixture["input"]["label"].get<std::vector<double>>();
  const auto check = [&](CodingChoice choice, const std::string& machines,
                         const std::string& predictions) {
    const OutputCoding coding = Coding(Labels(labels), choice);
    const nlohmann::json& parts = fixture["expected"][machines];
    const auto num_rows = static_cast<Index>(parts[0]["decision_test"].size());
    Matrix values(num_rows, static_cast<Index>(parts.size()));
    for (Index o = 0; o < values.cols(); ++o) {
      const auto column = parts[static_cast<size_t>(o)]["decision_test"].get<std::vector<double>>();
      values.col(o) = Eigen::Map<const Vector>(column.data(), num_rows);
    }
    std::vector<int> predicted;
    for (const int c : coding.Decide(values)) {
      predicted.push_back(std::stoi(coding.classes()[static_cast<size_t>(c)]));
    }
    EXPECT_EQ(predicted, fixture["expected"][predictions].get<std::vector<int>>());
    return std::pair<OutputCoding, Matrix>(coding, values);
  };
  check(CodingChoice::kAuto, "one_vs_all", "predict_one_vs_all");
  const auto [coding, values] = check(CodingChoice::kOneVsOne, "one_vs_one", "predict_one_vs_one");
  Matrix votes;
  Matrix margin_sums;
  coding.Vote(values, &votes, &margin_sums);
  for (Index row = 0; row < votes.rows(); ++row) {
    for (Index c = 0; c < votes.cols(); ++c) {
      const auto r = static_cast<size_t>(row);
      const auto k = static_cast<size_t>(c);
      EXPECT_EQ(votes(row, c), fixture["expected"]["votes"][r][k].get<double>()) << "row " << row;
      EXPECT_NEAR(margin_sums(row, c), fixture["expected"]["margin_sums"][r][k].get<double>(),
                  1e-12)
          << "row " << row;
    }
  }
}

// The bytes of docs/formats/model.md.
std::string EncodedCoding(uint8_t kind, size_t classes) {
  ByteWriter writer;
  writer.WriteUint8(kind);
  std::vector<std::string> labels;
  for (size_t label = 1; label <= classes; ++label) {
    labels.push_back(std::to_string(label));
  }
  writer.WriteStrings(labels);
  return std::move(writer).Take();
}

TEST(OutputCodingTest, SavedFormIsThatOfTheFormat) {
  const OutputCoding coding = Coding(Labels({1, 2, 3}), CodingChoice::kOneVsOne);
  EXPECT_EQ(SaveFields(coding), EncodedCoding(3, 3));
  OutputCoding back;
  ASSERT_TRUE(LoadFields(EncodedCoding(3, 3), back));
  EXPECT_EQ(back.kind(), coding.kind());
  EXPECT_EQ(back.classes(), coding.classes());
}

TEST(OutputCodingTest, RefusesImpossibleCodings) {
  const auto refused = [](uint8_t kind, size_t classes) {
    OutputCoding back;
    return !LoadFields(EncodedCoding(kind, classes), back);
  };
  EXPECT_FALSE(refused(0, 0));
  EXPECT_TRUE(refused(0, 1));
  EXPECT_FALSE(refused(1, 2));
  EXPECT_TRUE(refused(1, 3));
  EXPECT_FALSE(refused(2, OutputCoding::kMaxClasses));
  EXPECT_TRUE(refused(2, OutputCoding::kMaxClasses + 1));
  EXPECT_TRUE(refused(3, 1));
  EXPECT_TRUE(refused(4, 3));
}

}  // namespace
}  // namespace mercer

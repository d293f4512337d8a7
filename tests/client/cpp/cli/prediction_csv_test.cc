#include "client/cpp/cli/prediction_csv.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

namespace mercer::client {
namespace {

v1::PredictResponse Classes() {
  v1::PredictResponse response;
  response.add_outputs("spam");
  response.add_labels("1");
  response.add_labels("a,\"b\"");
  response.mutable_decision_values()->set_rows(2);
  response.mutable_decision_values()->set_columns(1);
  response.mutable_decision_values()->add_values(0.1);
  response.mutable_decision_values()->add_values(-1.0 / 3.0);
  return response;
}

TEST(PredictionCsvTest, LabelsAloneByDefault) {
  std::ostringstream out;
  PredictionCsv csv(out, false);
  EXPECT_TRUE(csv.Write(Classes()).ok());
  EXPECT_TRUE(csv.Write(Classes()).ok());
  EXPECT_EQ(out.str(), "label\n1\n\"a,\"\"b\"\"\"\n1\n\"a,\"\"b\"\"\"\n");
}

TEST(PredictionCsvTest, ValuesComeBackExactly) {
  std::ostringstream out;
  EXPECT_TRUE(PredictionCsv(out, true).Write(Classes()).ok());
  EXPECT_EQ(out.str(), "label,value spam\n1,0.1\n\"a,\"\"b\"\"\",-0.3333333333333333\n");
}

TEST(PredictionCsvTest, ContributionsFollowTheValues) {
  v1::PredictResponse response = Classes();
  v1::Contribution& contribution = *response.add_contributions();
  contribution.set_name("gaussian(bandwidth=1)");
  *contribution.mutable_values() = response.decision_values();
  contribution.mutable_values()->set_values(0, 5e-324);
  std::ostringstream out;
  EXPECT_TRUE(PredictionCsv(out, false).Write(response).ok());
  EXPECT_EQ(out.str(),
            "label,gaussian(bandwidth=1)\n1,4.94065645841247e-324\n\"a,\"\"b\"\"\","
            "-0.3333333333333333\n");
}

TEST(PredictionCsvTest, RegressionPredictsNumbers) {
  v1::PredictResponse response = Classes();
  response.clear_labels();
  std::ostringstream out;
  EXPECT_TRUE(PredictionCsv(out, false).Write(response).ok());
  EXPECT_EQ(out.str(), "prediction\n0.1\n-0.3333333333333333\n");
}

// Of a foreign or damaged server: nothing is made up for what is missing.
TEST(PredictionCsvTest, ResponseThatContradictsItselfIsRefused) {
  std::ostringstream out;
  v1::PredictResponse columns = Classes();
  columns.mutable_decision_values()->set_columns(int64_t{1} << 62);
  EXPECT_EQ(PredictionCsv(out, true).Write(columns).code(), absl::StatusCode::kDataLoss);
  v1::PredictResponse labels = Classes();
  labels.mutable_labels()->RemoveLast();
  EXPECT_EQ(PredictionCsv(out, false).Write(labels).code(), absl::StatusCode::kDataLoss);
  v1::PredictResponse shares = Classes();
  shares.add_contributions()->mutable_values()->set_columns(3);
  EXPECT_EQ(PredictionCsv(out, false).Write(shares).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(out.str(), "");
}

TEST(PredictionCsvTest, KeptCellsStandBeforeThePredictions) {
  std::ostringstream out;
  KeptCells kept{{"id", "no,te"}, {{"a", "1"}, {"b", "2,5"}, {"c", "3"}}};
  PredictionCsv csv(out, false, &kept);
  v1::PredictResponse response;
  response.mutable_decision_values()->set_rows(3);
  response.mutable_decision_values()->set_columns(1);
  for (const double value : {1.0, 2.0, 3.0}) {
    response.mutable_decision_values()->add_values(value);
  }
  EXPECT_TRUE(csv.Write(response).ok());
  EXPECT_EQ(out.str(), "id,\"no,te\",prediction\na,1,1\nb,\"2,5\",2\nc,3,3\n");
  EXPECT_TRUE(kept.rows.empty());
}

TEST(PredictionCsvTest, RowsWithErrorsAreEmptyOrLeftOut) {
  v1::PredictResponse response;
  response.mutable_decision_values()->set_rows(2);
  response.mutable_decision_values()->set_columns(1);
  response.mutable_decision_values()->add_values(0.5);
  response.mutable_decision_values()->add_values(std::nan(""));
  response.add_labels("yes");
  response.add_labels("");
  response.add_outputs("yes");
  response.add_row_errors()->set_row(2);
  std::ostringstream out;
  KeptCells kept{{"id"}, {{"a"}, {"b"}}};
  EXPECT_TRUE(PredictionCsv(out, true, &kept).Write(response).ok());
  EXPECT_EQ(out.str(), "id,label,value yes\na,yes,0.5\nb,,\n");
  std::ostringstream without;
  kept.rows = {{"a"}, {"b"}};
  EXPECT_TRUE(PredictionCsv(without, true, &kept, true).Write(response).ok());
  EXPECT_EQ(without.str(), "id,label,value yes\na,yes,0.5\n");
}

}  // namespace
}  // namespace mercer::client

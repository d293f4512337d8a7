// Rows to predict as users have them: with columns that are no features, and with categories that training did not know.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/prediction_handlers.h"
#include "server/translation/model_translator.h"
#include "tests/server/api/api_fixture.h"
#include "tests/support/field_violation.h"

namespace mercer::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class PredictionColumnsTest : public ApiTest {
 protected:
  // Trains "models/table" on the columns id (ignored), colour, x, subject (group) and y (target).
  void TrainTable(v1::UnseenCategory rule = v1::UNSEEN_CATEGORY_UNSPECIFIED) {
    std::string csv = "id,colour,x,subject,y\n";
    for (int r = 0; r < 40; ++r) {
      csv += "r" + std::to_string(r) + "," + (r % 3 == 0 ? "red" : "blue") + "," +
             std::to_string(r % 7) + "," + std::to_string(r / 4) + "," +
             (r % 7 < 3 ? "no" : "yes") + "\n";
    }
    v1::UploadDatasetRequest header;
    header.mutable_header()->set_dataset_id("table");
    auto& roles = *header.mutable_header()->add_parts()->mutable_csv()->mutable_roles();
    roles["id"] = v1::COLUMN_ROLE_IGNORED;
    roles["subject"] = v1::COLUMN_ROLE_GROUP;
    roles["y"] = v1::COLUMN_ROLE_TARGET;
    v1::UploadDatasetRequest chunk;
    chunk.mutable_chunk()->set_data(csv);
    DatasetUpload upload(context_);
    ASSERT_TRUE(upload.Add(header).ok());
    ASSERT_TRUE(upload.Add(chunk).ok());
    const auto dataset = upload.Finish([] { return false; });
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_THAT(dataset->ignored_columns(), ElementsAre("id"));
    v1::TrainRequest request;
    request.add_data()->set_dataset("datasets/table");
    request.set_model("models/table");
    request.mutable_learner()->mutable_kernel_ridge();
    request.mutable_preprocessing()->set_unseen_category(rule);
    const auto job = TrainingHandlers(context_).Train(request, {});
    ASSERT_TRUE(job.ok()) << job.status();
    jobs_->WaitUntilIdle();
  }
  static void AddTexts(v1::Rows& rows, const std::string& name,
                       const std::vector<std::string>& values) {
    v1::TypedColumn& column = *rows.add_columns();
    column.set_name(name);
    column.mutable_texts()->mutable_values()->Assign(values.begin(), values.end());
  }
  static v1::PredictRequest Rows(const std::vector<std::string>& colours) {
    v1::PredictRequest request;
    request.set_model("models/table/versions/1");
    AddTexts(*request.mutable_rows(), "colour", colours);
    AddTexts(*request.mutable_rows(), "x", std::vector<std::string>(colours.size(), "2"));
    return request;
  }
  absl::StatusOr<v1::PredictResponse> Predict(const v1::PredictRequest& request) {
    const PredictionHandlers handlers(context_, *cache_);
    MERCER_ASSIGN_OR_RETURN(const auto model, handlers.Open(request));
    return handlers.Predict(*model, request, CancellationToken());
  }
};

TEST_F(PredictionColumnsTest, ColumnsThatAreNoFeaturesAreIgnored) {
  TrainTable();
  v1::PredictRequest request = Rows({"red", "blue"});
  const auto without = Predict(request);
  ASSERT_TRUE(without.ok()) << without.status();
  AddTexts(*request.mutable_rows(), "id", {"a", "b"});
  AddTexts(*request.mutable_rows(), "subject", {"7", "7"});
  AddTexts(*request.mutable_rows(), "y", {"no", "yes"});
  const auto with = Predict(request);
  ASSERT_TRUE(with.ok()) << with.status();
  EXPECT_EQ(with->SerializeAsString(), without->SerializeAsString());
  AddTexts(*request.mutable_rows(), "other", {"1", "2"});
  EXPECT_THAT(Violation(Predict(request).status(), "rows.columns[5].name"), HasSubstr("'other'"));
  const auto model = WriteVersion(*real_storage_->models().GetVersion("table", 1));
  ASSERT_TRUE(model.ok());
  EXPECT_THAT(model->ignored_columns(), ElementsAre("id", "subject"));
}

TEST_F(PredictionColumnsTest, AnUnknownCategoryIsAnErrorOfItsRowAlone) {
  TrainTable();
  v1::PredictRequest request = Rows({"red", "teal", "blue"});
  EXPECT_EQ(GetReason(Predict(request).status()), "BAD_CELL");  // as the model says
  request.set_unseen(v1::UNSEEN_ROWS_ROW_ERROR);
  const auto response = Predict(request);
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->row_errors_size(), 1);
  const v1::RowError& error = response->row_errors(0);
  EXPECT_EQ(error.row(), 2);
  EXPECT_EQ(error.column(), "colour");
  EXPECT_EQ(error.value(), "teal");
  EXPECT_EQ(error.message(), "column 'colour': training did not know the category 'teal'");
  EXPECT_TRUE(std::isnan(response->decision_values().values(1)));
  EXPECT_EQ(response->labels(1), "");
  const auto known = Predict(Rows({"red", "blue"}));
  ASSERT_TRUE(known.ok());
  EXPECT_EQ(response->decision_values().values(0), known->decision_values().values(0));
  EXPECT_EQ(response->decision_values().values(2), known->decision_values().values(1));
  EXPECT_EQ(response->labels(2), known->labels(1));
}

TEST_F(PredictionColumnsTest, ZerosPredictEveryRow) {
  TrainTable();
  v1::PredictRequest request = Rows({"teal", "blue"});
  request.set_unseen(v1::UNSEEN_ROWS_ZEROS);
  const auto response = Predict(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->row_errors_size(), 0);
  EXPECT_TRUE(std::isfinite(response->decision_values().values(0)));
}

TEST_F(PredictionColumnsTest, AModelOfZerosPredictsEveryRow) {
  TrainTable(v1::UNSEEN_CATEGORY_ALL_ZEROS);
  v1::PredictRequest request = Rows({"teal", "blue"});
  const auto own_rule = Predict(request);
  ASSERT_TRUE(own_rule.ok()) << own_rule.status();
  request.set_unseen(v1::UNSEEN_ROWS_ROW_ERROR);
  const auto response = Predict(request);
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->SerializeAsString(), own_rule->SerializeAsString());
}

}  // namespace
}  // namespace mercer::server

// Problems of several tasks through a whole server: from a column, from several data sets, to predictions.
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// Rows of x1, x2, ... of which x1 says the class; `turned` the other way round.
std::string TaskCsv(int rows, int columns, bool turned) {
  std::string csv;
  for (int c = 1; c <= columns; ++c) {
    csv += "x" + std::to_string(c) + ",";
  }
  csv += "label\n";
  for (int r = 0; r < rows; ++r) {
    const bool positive = r % 2 == 1;
    csv += std::to_string((positive ? 2 : -2) + r % 3);
    for (int c = 2; c <= columns; ++c) {
      csv += "," + std::to_string((r * c) % 5);
    }
    csv += std::string(",") + (positive != turned ? "1" : "0") + "\n";
  }
  return csv;
}

class SeveralTasksTest : public ServerTest {
 protected:
  void SetUp() override {
    StartServer();
    v1::Dataset dataset;
    ASSERT_TRUE(Upload(TaskCsv(60, 2, false), "ann", &dataset).ok());
    ASSERT_TRUE(Upload(TaskCsv(45, 2, true), "bob", &dataset).ok());
  }

  static v1::TrainRequest TasksRequest(const std::vector<std::string>& datasets) {
    v1::TrainRequest request;
    for (const std::string& dataset : datasets) {
      v1::DataInput& data = *request.add_data();
      data.set_dataset("datasets/" + dataset);
      data.set_role(v1::DATA_ROLE_TASK);
    }
    request.mutable_learner()->mutable_infinite_features()->set_family(
        v1::InfiniteFeatures::FAMILY_COLUMNS);
    request.set_model("models/tasks");
    return request;
  }
  grpc::Status Train(const v1::TrainRequest& request) {
    grpc::ClientContext context;
    v1::Job job;
    return training_->Train(&context, request, &job);
  }
  grpc::Status Predict(const v1::PredictRequest& request, v1::PredictResponse* response) {
    grpc::ClientContext context;
    response->Clear();
    return prediction_->Predict(&context, request, response);
  }
  // x1 = 2 for each of the named tasks; `task` for all rows.
  static v1::PredictRequest Rows(const std::vector<std::string>& tasks, const std::string& task) {
    v1::PredictRequest request;
    request.set_model("models/tasks");
    v1::Matrix& values = *request.mutable_rows()->add_dense()->mutable_values();
    values.set_rows(2);
    values.set_columns(2);
    for (const double value : {2.0, 0.0, 2.0, 0.0}) {
      values.add_values(value);
    }
    request.mutable_rows()->mutable_tasks()->Assign(tasks.begin(), tasks.end());
    request.set_task(task);
    return request;
  }
  v1::ModelVersion GetModel() {
    grpc::ClientContext context;
    v1::GetModelVersionRequest request;
    request.set_name("models/tasks");
    v1::ModelVersion model;
    EXPECT_TRUE(models_->GetModelVersion(&context, request, &model).ok());
    return model;
  }
};

TEST_F(SeveralTasksTest, DataSetsAreTasksOfOneModel) {
  ASSERT_EQ(WaitForEnd(TrainOk(TasksRequest({"ann", "bob"})).name()).state(),
            v1::JOB_STATE_SUCCEEDED);
  const v1::ModelVersion model = GetModel();
  EXPECT_EQ(model.tasks().column(), "task");
  EXPECT_THAT(model.tasks().names(), ElementsAre("ann", "bob"));
  EXPECT_THAT(model.coding().output_names(), ElementsAre("ann", "bob"));
  EXPECT_EQ(model.num_training_rows(), 105);
  EXPECT_EQ(model.feature_weights().weights().columns(), 2);
  EXPECT_EQ(model.lineage().data_digests_size(), 2);

  v1::PredictResponse response;
  const grpc::Status predicted = Predict(Rows({"ann", "bob"}, ""), &response);
  ASSERT_TRUE(predicted.ok()) << predicted.error_message();
  EXPECT_THAT(response.labels(), ElementsAre("1", "0"));
  EXPECT_EQ(response.decision_values().columns(), 1);
  ASSERT_TRUE(Predict(Rows({}, "bob"), &response).ok());
  EXPECT_THAT(response.labels(), ElementsAre("0", "0"));

  v1::PredictRequest named;
  named.set_model("models/tasks");
  for (const std::string column : {"x1", "x2"}) {
    v1::TypedColumn& numbers = *named.mutable_rows()->add_columns();
    numbers.set_name(column);
    numbers.mutable_numbers()->add_values(2.0);
  }
  v1::TypedColumn& tasks = *named.mutable_rows()->add_columns();
  tasks.set_name("task");
  tasks.mutable_texts()->add_values("bob");
  ASSERT_TRUE(Predict(named, &response).ok());
  EXPECT_THAT(response.labels(), ElementsAre("0"));

  grpc::ClientContext evaluation;
  v1::EvaluateModelRequest evaluate;
  evaluate.set_name("models/tasks");
  evaluate.set_dataset("datasets/bob");
  evaluate.set_task("bob");
  v1::EvaluateModelResponse evaluated;
  ASSERT_TRUE(models_->EvaluateModel(&evaluation, evaluate, &evaluated).ok());
  EXPECT_EQ(evaluated.metrics(0).value(), 1.0);

  grpc::ClientContext verification;
  v1::VerifyModelRequest verify;
  verify.set_name("models/tasks");
  v1::VerifyModelResponse verified;
  const grpc::Status status = models_->VerifyModel(&verification, verify, &verified);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(verified.matches());
}

TEST_F(SeveralTasksTest, ARowWithoutATaskOfTheModelIsRefused) {
  ASSERT_EQ(WaitForEnd(TrainOk(TasksRequest({"ann", "bob"})).name()).state(),
            v1::JOB_STATE_SUCCEEDED);
  v1::PredictResponse response;
  EXPECT_EQ(ReasonOf(Predict(Rows({}, ""), &response)), "BAD_TASK");
  const grpc::Status unknown = Predict(Rows({"ann", "eve"}, ""), &response);
  EXPECT_EQ(ReasonOf(unknown), "BAD_TASK");
  EXPECT_THAT(unknown.error_message(), HasSubstr("row 2"));
  EXPECT_THAT(ViolationsOf(Predict(Rows({}, "eve"), &response)), Contains(HasSubstr("task: ")));
  EXPECT_THAT(ViolationsOf(Predict(Rows({"ann"}, ""), &response)),
              Contains(HasSubstr("rows.tasks: ")));
}

TEST_F(SeveralTasksTest, RowsOfOtherTasksMayHaveTheMeanOfAll) {
  ASSERT_EQ(WaitForEnd(TrainOk(TasksRequest({"ann", "bob"})).name()).state(),
            v1::JOB_STATE_SUCCEEDED);
  v1::PredictResponse response;
  ASSERT_TRUE(Predict(Rows({"ann", "bob"}, ""), &response).ok());
  const double ann = response.decision_values().values(0);
  const double mean = (ann + response.decision_values().values(1)) / 2;
  const auto with_rule = [](v1::PredictRequest request, v1::TaskRule rule) {
    request.set_task_rule(rule);
    return request;
  };
  const auto values = [&] { return response.decision_values().values(); };
  ASSERT_TRUE(
      Predict(with_rule(Rows({"eve", "ann"}, ""), v1::TASK_RULE_MEAN_IF_UNKNOWN), &response).ok());
  EXPECT_THAT(values(), ElementsAre(mean, ann));
  EXPECT_EQ(response.rows_by_mean(), 1);
  v1::PredictRequest all = with_rule(Rows({}, ""), v1::TASK_RULE_MEAN);
  ASSERT_TRUE(Predict(all, &response).ok());
  EXPECT_THAT(values(), ElementsAre(mean, mean));
  all.set_contributions(true);  // a call that joins no batch
  ASSERT_TRUE(Predict(all, &response).ok());
  EXPECT_THAT(values(), ElementsAre(mean, mean));
  EXPECT_THAT(ViolationsOf(Predict(with_rule(Rows({}, "ann"), v1::TASK_RULE_MEAN), &response)),
              Contains(HasSubstr("task: ")));
  EXPECT_THAT(
      ViolationsOf(Predict(with_rule(Rows({"ann", "bob"}, ""), v1::TaskRule(77)), &response)),
      Contains(HasSubstr("task_rule: ")));

  // x1 means the opposite in the two data sets.
  v1::EvaluateModelRequest evaluate;
  evaluate.set_name("models/tasks");
  evaluate.set_dataset("datasets/bob");
  evaluate.set_task_rule(v1::TASK_RULE_MEAN);
  grpc::ClientContext evaluation;
  v1::EvaluateModelResponse evaluated;
  const grpc::Status status = models_->EvaluateModel(&evaluation, evaluate, &evaluated);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_LT(evaluated.metrics(0).value(), 1.0);
  EXPECT_EQ(evaluated.rows_by_mean(), evaluated.rows());
}

TEST_F(SeveralTasksTest, WhatIsNoTaskIsSaidBeforeAJobIsQueued) {
  v1::Dataset dataset;
  ASSERT_TRUE(Upload(TaskCsv(30, 3, false), "wide", &dataset).ok());
  const grpc::Status wide = Train(TasksRequest({"ann", "wide"}));
  EXPECT_EQ(wide.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(wide), "DIFFERENT_COLUMNS");
  EXPECT_THAT(wide.error_message(), HasSubstr("'x3'"));
  const grpc::Status none = Train(TasksRequest({"ann", "none"}));
  EXPECT_EQ(none.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_THAT(none.error_message(), HasSubstr("'datasets/none'"));
  EXPECT_THAT(ViolationsOf(Train(TasksRequest({"ann", "ann"}))),
              Contains(HasSubstr("data[1].dataset: ")));
  v1::TrainRequest view = TasksRequest({"ann", "bob"});
  view.mutable_data(1)->set_role(v1::DATA_ROLE_VIEW);
  EXPECT_THAT(ViolationsOf(Train(view)), Contains(HasSubstr("data[1].role: ")));
  v1::TrainRequest both = TasksRequest({"ann", "bob"});
  both.set_task("label");
  EXPECT_THAT(ViolationsOf(Train(both)), Contains(HasSubstr("task: ")));
  v1::TrainRequest of_one = TasksRequest({"ann", "bob"});
  of_one.mutable_learner()->mutable_svm();
  EXPECT_THAT(ViolationsOf(Train(of_one)), Contains(HasSubstr("data: ")));
  v1::TrainRequest named = TasksRequest({"ann"});
  named.mutable_learner()->mutable_svm();
  EXPECT_THAT(ViolationsOf(Train(named)), Contains(HasSubstr("data[0].role: ")));
  named.mutable_data(0)->set_role(v1::DATA_ROLE_UNSPECIFIED);
  named.set_task("label");
  EXPECT_THAT(ViolationsOf(Train(named)), Contains(HasSubstr("task: ")));
}

TEST_F(SeveralTasksTest, AModelOfTasksSurvivesARestart) {
  v1::TrainRequest request = TasksRequest({"ann", "bob"});
  ASSERT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
  const std::string digest = GetModel().digest();
  KillServer();
  StartServer();
  const v1::ModelVersion model = GetModel();
  EXPECT_EQ(model.digest(), digest);
  EXPECT_THAT(model.tasks().names(), ElementsAre("ann", "bob"));
  ASSERT_EQ(WaitForEnd(TrainOk(request).name()).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(GetModel().digest(), digest) << "the same data, request and seed";
}

}  // namespace
}  // namespace mercer::server

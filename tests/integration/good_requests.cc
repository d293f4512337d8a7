// The table of good requests: one entry for every RPC.
#include "absl/strings/str_cat.h"

#include "mercer/v1/admin_service.pb.h"
#include "mercer/v1/server_service.pb.h"
#include "tests/integration/field_walk_fixture.h"
#include "tests/integration/good_uploads.h"

namespace mercer::server {
namespace {

constexpr char kFirstVersion[] = "models/clouds/versions/1";
constexpr char kWholeModel[] = "models/clouds";
constexpr char kMovedAlias[] = "models/clouds/aliases/live";

template <typename Message>
Messages OneMessage(Message message) {
  return {std::make_shared<Message>(std::move(message))};
}

// Changes the labels and, where the resource has them, display name and description.
template <typename Request, typename Resource>
std::function<Messages(FieldWalkTest&)> Changing(Resource* (Request::*resource)(),
                                                 const std::string& name) {
  return [=](FieldWalkTest&) {
    Request request;
    Resource& changed = *(request.*resource)();
    changed.set_name(name);
    (*changed.mutable_labels())["team"] = "blue";
    request.mutable_update_mask()->add_paths("labels");
    if constexpr (requires { changed.set_display_name(""); }) {
      changed.set_display_name("one");
      request.mutable_update_mask()->add_paths("display_name");
    }
    if constexpr (requires { changed.set_description(""); }) {
      changed.set_description("the first");
      request.mutable_update_mask()->add_paths("description");
    }
    return OneMessage(request);
  };
}

// ------------------------------------------------------------------------------------------------------------- data sets

template <typename Request>
std::function<Messages(FieldWalkTest&)> Named(const std::string& name) {
  return [name](FieldWalkTest&) {
    Request request;
    request.set_name(name);
    return OneMessage(request);
  };
}

Messages UploadByName(FieldWalkTest& test) {
  test.EnsureUpload("half");
  return Named<v1::GetUploadRequest>("uploads/half")(test);
}

Messages UploadToDelete(FieldWalkTest& test) {
  test.EnsureUpload("half");
  return Named<v1::DeleteUploadRequest>("uploads/half")(test);
}

Messages DatasetByName(FieldWalkTest&) {
  v1::GetDatasetRequest request;
  request.set_name("datasets/clouds");
  request.set_view(v1::DATASET_VIEW_BASIC);
  return OneMessage(request);
}

Messages DatasetPage(FieldWalkTest& test) {
  v1::ListDatasetsRequest request;
  request.set_page_size(1);
  request.set_page_token(
      test.PageToken(test.datasets(), &v1::DatasetService::Stub::ListDatasets, request));
  return OneMessage(request);
}

Messages DatasetToDelete(FieldWalkTest& test) {
  test.EnsureDataset("spare");
  v1::DeleteDatasetRequest request;
  request.set_name("datasets/spare");
  request.set_when_unused(true);
  return OneMessage(request);
}

// ---------------------------------------------------------------------------------------------------------------- models

Messages ModelPage(FieldWalkTest& test) {
  v1::ListModelsRequest request;
  request.set_page_size(1);
  request.set_page_token(test.PageToken(&v1::ModelService::Stub::ListModels, request));
  return OneMessage(request);
}

Messages VersionByName(FieldWalkTest&) {
  v1::GetModelVersionRequest request;
  request.set_name(kMovedAlias);
  request.set_view(v1::MODEL_VERSION_VIEW_FULL);
  request.mutable_as_of_time()->set_seconds(4'000'000'000);
  return OneMessage(request);
}

Messages VersionPage(FieldWalkTest& test) {
  v1::ListModelVersionsRequest request;
  request.set_page_size(1);
  request.set_model(kWholeModel);
  request.set_learner("lp_mkl");
  request.set_page_token(test.PageToken(&v1::ModelService::Stub::ListModelVersions, request));
  return OneMessage(request);
}

Messages AliasToSet(FieldWalkTest& test) {
  v1::SetAliasRequest request;
  request.set_name("models/clouds/aliases/next");
  test.EnsureAliases();
  request.set_version("models/clouds/versions/2");
  request.set_etag(test.EtagOf("models/clouds/aliases/next"));
  request.set_request_id(absl::StrCat("request-", test.Count()));
  return OneMessage(request);
}

Messages AliasToRollBack(FieldWalkTest& test) {
  test.EnsureAliases();
  v1::RollbackAliasRequest request;
  request.set_name(kMovedAlias);
  request.set_etag(test.EtagOf(kMovedAlias));
  request.set_request_id(absl::StrCat("request-", test.Count()));
  return OneMessage(request);
}

Messages AliasPage(FieldWalkTest& test) {
  v1::ListAliasesRequest request;
  request.set_model(kWholeModel);
  request.set_page_size(1);
  request.set_page_token(test.PageToken(&v1::ModelService::Stub::ListAliases, request));
  return OneMessage(request);
}

Messages AliasHistoryPage(FieldWalkTest& test) {
  v1::ListAliasHistoryRequest request;
  request.set_name(kMovedAlias);
  request.set_page_size(1);
  request.set_page_token(test.PageToken(&v1::ModelService::Stub::ListAliasHistory, request));
  return OneMessage(request);
}

Messages RetentionToSet(FieldWalkTest&) {
  v1::SetRetentionRequest request;
  request.set_name(kWholeModel);
  request.set_keep_newest(1);
  request.set_validate_only(true);
  return OneMessage(request);
}

Messages Evaluation(FieldWalkTest&) {
  v1::EvaluateModelRequest request;
  request.set_name(kFirstVersion);
  request.set_dataset("datasets/small");
  return OneMessage(request);
}

Messages EvaluationToStart(FieldWalkTest& test) {
  auto request = test.JobToStart<v1::EvaluateModelRequest>();
  request.set_name(kFirstVersion);
  request.set_dataset("datasets/small");
  return OneMessage(request);
}

Messages VerificationToStart(FieldWalkTest& test) {
  auto request = test.JobToStart<v1::VerifyModelRequest>();
  request.set_name(kFirstVersion);
  return OneMessage(request);
}

Messages ModelToDelete(FieldWalkTest& test) {
  test.SpareVersion("models/spare");
  return Named<v1::DeleteModelRequest>("models/spare")(test);
}

Messages VersionToDelete(FieldWalkTest& test) {
  return Named<v1::DeleteModelVersionRequest>(test.SpareVersion())(test);
}

// ----------------------------------------------------------------------------------------------------------- predictions

v1::Rows DenseRows() {
  v1::Rows rows;
  v1::DenseBlock& block = *rows.add_dense();
  block.set_name("features");
  block.add_columns("x2");
  block.add_columns("x1");
  v1::Matrix& values = *block.mutable_values();
  values.set_rows(2);
  values.set_columns(2);
  for (const double value : {1, 2, 3, 4}) {
    values.add_values(value);
  }
  return rows;
}

v1::Rows NamedColumns() {
  v1::Rows rows;
  for (const char* name : {"x1", "x2"}) {
    v1::TypedColumn& column = *rows.add_columns();
    column.set_name(name);
    column.mutable_numbers()->add_values(0.5);
  }
  rows.mutable_columns(1)->mutable_texts()->add_values("1.5");
  return rows;
}

std::function<Messages(FieldWalkTest&)> PredictionOf(const v1::Rows& rows) {
  return [rows](FieldWalkTest&) {
    v1::PredictRequest request;
    request.set_model(kWholeModel);
    *request.mutable_rows() = rows;
    request.set_contributions(true);
    return OneMessage(request);
  };
}

Messages PredictionOfRaw(FieldWalkTest& test) {
  v1::Rows rows = DenseRows();
  rows.mutable_dense(0)->mutable_values()->clear_values();
  rows.mutable_dense(0)->mutable_values()->set_raw(BytesOfNumbers({1, 2, 3, 4}));
  return PredictionOf(rows)(test);
}

Messages PredictionOfDataset(FieldWalkTest&) {
  v1::PredictRequest request;
  request.set_model(kWholeModel);
  request.set_dataset("datasets/small");
  return OneMessage(request);
}

Messages DatasetToPredict(FieldWalkTest& test) {
  auto request = test.JobToStart<v1::PredictDatasetRequest>();
  request.set_model(kWholeModel);
  request.set_dataset("datasets/small");
  (*request.mutable_dataset_labels())["team"] = "red";
  return OneMessage(request);
}

Messages StreamOfRows(FieldWalkTest&) {
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model(kMovedAlias);
  v1::PredictStreamRequest rows;
  *rows.mutable_rows() = DenseRows();
  return {std::make_shared<v1::PredictStreamRequest>(header),
          std::make_shared<v1::PredictStreamRequest>(rows)};
}

Messages StreamOfDataset(FieldWalkTest&) {
  v1::PredictStreamRequest header;
  header.mutable_header()->set_model(kFirstVersion);
  header.mutable_header()->set_dataset("datasets/small");
  return OneMessage(header);
}

Messages Statistics(FieldWalkTest&) {
  v1::ListPredictionStatisticsRequest request;
  request.set_model(kWholeModel);
  return OneMessage(request);
}

// -------------------------------------------------------------------------------------------------------------- training

void AddKernel(google::protobuf::RepeatedPtrField<v1::KernelGrid>& kernels) {
  v1::KernelGrid& grid = *kernels.Add();
  grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
  grid.set_block("features");
  grid.add_columns("x1");
  grid.add_columns("x2");
  grid.mutable_normalization()->set_unit_diagonal(true);
  grid.mutable_normalization()->set_scaling(v1::KERNEL_SCALING_TRACE);
  grid.add_bandwidths(1);
}

// The options of regression are refused for classification.
v1::TrainRequest Training() {
  v1::TrainRequest request;
  request.add_data()->set_dataset("datasets/clouds");
  request.set_target("label");
  v1::LpMkl& learner = *request.mutable_learner()->mutable_lp_mkl();
  AddKernel(*learner.mutable_kernels());
  learner.set_p(2);
  learner.set_c(1);
  learner.set_inner_solver(v1::LpMkl::INNER_SOLVER_AUTO);
  learner.set_outer_loop(v1::LpMkl::OUTER_LOOP_NEWTON);
  request.mutable_preprocessing()->set_scaling(v1::SCALING_STANDARDIZE);
  request.mutable_preprocessing()->add_blocks("features");
  request.mutable_validation()->mutable_hold_out()->set_fraction(0.25);
  (*request.mutable_class_weights()->mutable_weights())["0"] = 2;
  request.set_seed(7);
  request.set_threads(1);
  request.mutable_stopping()->set_relative_gap(0.01);
  request.mutable_stopping()->set_max_iterations(20);
  request.mutable_stopping()->mutable_time_limit()->set_seconds(5);
  (*request.mutable_labels())["team"] = "blue";
  request.set_display_name("walked");
  return request;
}

v1::TrainRequest RidgeTraining() {
  v1::TrainRequest request = Training();
  v1::KernelRidge& learner = *request.mutable_learner()->mutable_kernel_ridge();
  AddKernel(*learner.mutable_kernels());
  learner.set_lambda(0.5);
  request.set_target_kind(v1::TARGET_KIND_REGRESSION);
  request.set_target_scaling(v1::TARGET_SCALING_NONE);
  request.clear_class_weights();
  request.mutable_validation()->mutable_folds()->set_count(2);
  return request;
}

v1::TrainRequest SvmTraining() {
  v1::TrainRequest request = RidgeTraining();
  v1::Svm& learner = *request.mutable_learner()->mutable_svm();
  AddKernel(*learner.mutable_kernels());
  learner.mutable_kernels(0)->set_rule(v1::BANDWIDTH_RULE_LOG_SPACED);
  learner.mutable_kernels(0)->clear_bandwidths();
  learner.mutable_kernels(0)->set_min_bandwidth(0.5);
  learner.mutable_kernels(0)->set_max_bandwidth(2);
  learner.mutable_kernels(0)->set_count(2);
  learner.set_c(2);
  learner.set_epsilon(0.1);
  return request;
}

v1::TrainRequest FeaturesTraining() {
  v1::TrainRequest request = Training();
  v1::InfiniteFeatures& learner = *request.mutable_learner()->mutable_infinite_features();
  learner.add_bandwidths(0.5);
  learner.add_bandwidths(2);
  learner.set_lambda(0.01);
  return request;
}

std::function<Messages(FieldWalkTest&)> QueuedTraining(const v1::TrainRequest& training) {
  return [training](FieldWalkTest& test) {
    test.BlockWorker();
    v1::TrainRequest request = training;
    request.set_request_id(absl::StrCat("request-", test.Count()));
    return OneMessage(request);
  };
}

void CancelAccepted(FieldWalkTest& test) { test.CancelWaitingJobs(); }
void FinishAccepted(FieldWalkTest& test) { test.FinishOtherJobs(); }

GoodRequest FurtherTraining(const v1::TrainRequest& training) {
  return {.make = QueuedTraining(training), .after_success = CancelAccepted, .only_present = true};
}

std::function<Messages(FieldWalkTest&)> EstimateOf(const v1::TrainRequest& training) {
  return [training](FieldWalkTest&) {
    v1::EstimateCostRequest request;
    *request.mutable_training() = training;
    return OneMessage(request);
  };
}

Messages JobPage(FieldWalkTest& test) {
  v1::ListJobsRequest request;
  request.set_page_size(1);
  request.add_states(v1::JOB_STATE_SUCCEEDED);
  request.set_page_token(
      test.PageToken(test.training(), &v1::TrainingService::Stub::ListJobs, request));
  return OneMessage(request);
}

Messages JobsToWatch(FieldWalkTest&) {
  v1::WatchJobsRequest request;
  request.add_states(v1::JOB_STATE_SUCCEEDED);
  (*request.mutable_labels())["team"] = "blue";
  return OneMessage(request);
}

Messages FinishedJob(FieldWalkTest& test) {
  return Named<v1::GetJobRequest>(test.finished_job())(test);
}

Messages JobToCancel(FieldWalkTest& test) {
  return Named<v1::CancelJobRequest>(test.WaitingJob())(test);
}

Messages JobToStop(FieldWalkTest& test) {
  return Named<v1::StopJobRequest>(test.WaitingJob())(test);
}

Messages JobChange(FieldWalkTest& test) {
  return Changing(&v1::UpdateJobRequest::mutable_job, test.finished_job())(test);
}

Messages JobToDelete(FieldWalkTest& test) {
  return Named<v1::DeleteJobRequest>(test.CancelledJob())(test);
}

Messages Progress(FieldWalkTest& test) {
  v1::StreamProgressRequest request;
  request.set_job(test.finished_job());
  request.set_after_sequence(1);
  return OneMessage(request);
}

template <typename Request>
Messages NothingToSay(FieldWalkTest&) {
  return OneMessage(Request());
}

}  // namespace

// Several entries of a method: the first is walked into fields that it does not have, too.
const std::map<std::string, std::vector<GoodRequest>>& GoodRequests() {
  static const auto* const requests = new std::map<std::string, std::vector<GoodRequest>>{
      {"AdminService/Backup", {{.make = NothingToSay<v1::BackupRequest>}}},

      {"DatasetService/UploadDataset",
       {{.make = CsvUpload, .after_success = DropUploaded},
        {.make = ResumableUpload,
         .after_success = DropUploaded,
         .after_refusal = DropUploads,
         .only_present = true},
        {.make = SvmlightUpload, .after_success = DropUploaded, .only_present = true},
        {.make = ImageUpload, .after_success = DropUploaded, .only_present = true},
        {.make = DenseUpload, .after_success = DropUploaded, .only_present = true}}},
      {"DatasetService/GetUpload", {{.make = UploadByName}}},
      {"DatasetService/ListUploads", {{.make = UploadPage}}},
      {"DatasetService/DeleteUpload", {{.make = UploadToDelete}}},
      {"DatasetService/GetDataset", {{.make = DatasetByName}}},
      {"DatasetService/ListDatasets", {{.make = DatasetPage}}},
      {"DatasetService/UpdateDataset",
       {{.make = Changing(&v1::UpdateDatasetRequest::mutable_dataset, "datasets/clouds"),
         .max_depth = 2}}},
      {"DatasetService/DeleteDataset", {{.make = DatasetToDelete}}},

      {"ModelService/GetModel", {{.make = Named<v1::GetModelRequest>(kWholeModel)}}},
      {"ModelService/ListModels", {{.make = ModelPage}}},
      {"ModelService/UpdateModel",
       {{.make = Changing(&v1::UpdateModelRequest::mutable_model, kWholeModel), .max_depth = 2}}},
      {"ModelService/DeleteModel", {{.make = ModelToDelete}}},
      {"ModelService/GetModelVersion", {{.make = VersionByName}}},
      {"ModelService/ListModelVersions", {{.make = VersionPage}}},
      {"ModelService/UpdateModelVersion",
       {{.make = Changing(&v1::UpdateModelVersionRequest::mutable_model_version, kFirstVersion),
         .max_depth = 2}}},
      {"ModelService/DeleteModelVersion", {{.make = VersionToDelete}}},
      {"ModelService/SetAlias", {{.make = AliasToSet}}},
      {"ModelService/GetAlias", {{.make = Named<v1::GetAliasRequest>(kMovedAlias)}}},
      {"ModelService/ListAliases", {{.make = AliasPage}}},
      {"ModelService/ListAliasHistory", {{.make = AliasHistoryPage}}},
      {"ModelService/RollbackAlias", {{.make = AliasToRollBack}}},
      {"ModelService/SetRetention", {{.make = RetentionToSet}}},
      {"ModelService/EvaluateModel", {{.make = Evaluation}}},
      {"ModelService/VerifyModel", {{.make = Named<v1::VerifyModelRequest>(kFirstVersion)}}},
      {"ModelService/StartEvaluation",
       {{.make = EvaluationToStart, .after_success = FinishAccepted}}},
      {"ModelService/StartVerification",
       {{.make = VerificationToStart, .after_success = FinishAccepted}}},
      {"ModelService/ExportModel", {{.make = Named<v1::ExportModelRequest>(kFirstVersion)}}},

      {"PredictionService/Predict",
       {{.make = PredictionOf(DenseRows())},
        {.make = PredictionOf(NamedColumns()), .only_present = true},
        {.make = PredictionOfRaw, .only_present = true},
        {.make = PredictionOfDataset, .only_present = true}}},
      {"PredictionService/PredictDataset",
       {{.make = DatasetToPredict, .after_success = FinishAccepted}}},
      {"PredictionService/PredictStream",
       {{.make = StreamOfRows}, {.make = StreamOfDataset, .only_present = true}}},
      {"PredictionService/ListPredictionStatistics", {{.make = Statistics}}},

      {"ServerService/GetServerInfo", {{.make = NothingToSay<v1::GetServerInfoRequest>}}},

      {"TrainingService/Train",
       {{.make = QueuedTraining(Training()), .after_success = CancelAccepted},
        FurtherTraining(RidgeTraining()),
        FurtherTraining(SvmTraining()),
        FurtherTraining(FeaturesTraining())}},
      {"TrainingService/GetJob", {{.make = FinishedJob}}},
      {"TrainingService/ListJobs", {{.make = JobPage}}},
      {"TrainingService/WatchJobs", {{.make = JobsToWatch, .max_answers = 1}}},
      {"TrainingService/CancelJob", {{.make = JobToCancel}}},
      {"TrainingService/StopJob", {{.make = JobToStop}}},
      {"TrainingService/UpdateJob", {{.make = JobChange, .max_depth = 2}}},
      {"TrainingService/DeleteJob", {{.make = JobToDelete}}},
      {"TrainingService/StreamProgress", {{.make = Progress}}},
      {"TrainingService/EstimateCost",
       {{.make = EstimateOf(Training())},
        {.make = EstimateOf(FeaturesTraining()), .only_present = true}}},
      {"TrainingService/ListLearners", {{.make = NothingToSay<v1::ListLearnersRequest>}}},
  };
  return *requests;
}

}  // namespace mercer::server

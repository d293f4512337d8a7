// UpdateJob and UpdateDataset over gRPC.
#include <gmock/gmock.h>

#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

using grpc::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

class LabelUpdateTest : public ApiTest {
 protected:
  static v1::UpdateJobRequest NewLabels(const std::string& job,
                                        const std::map<std::string, std::string>& labels) {
    v1::UpdateJobRequest request;
    request.mutable_job()->set_name(job);
    request.mutable_job()->mutable_labels()->insert(labels.begin(), labels.end());
    return request;
  }
  grpc::Status Update(const v1::UpdateJobRequest& request) {
    grpc::ClientContext context;
    job_.Clear();
    return training_->UpdateJob(&context, request, &job_);
  }
  grpc::Status Update(const v1::UpdateDatasetRequest& request) {
    grpc::ClientContext context;
    dataset_.Clear();
    return datasets_->UpdateDataset(&context, request, &dataset_);
  }
  // The next answer with a job, which is no heartbeat.
  static bool ReadJob(grpc::ClientReader<v1::WatchJobsResponse>& reader,
                      v1::WatchJobsResponse& response) {
    do {
      if (!reader.Read(&response)) {
        return false;
      }
    } while (!response.has_job());
    return true;
  }

  v1::Job job_;
  v1::Dataset dataset_;
};

TEST_F(LabelUpdateTest, OfAJobThatHasEndedWhateverItsModelHas) {
  StoreClouds(40);
  v1::TrainRequest training = CloudsRequest();
  (*training.mutable_labels())["team"] = "red";
  const std::string name = TrainingHandlers(context_).Train(training)->name();
  jobs_->WaitUntilIdle();
  Serve();
  v1::UpdateJobRequest request = NewLabels(name, {{"team", "blue"}, {"seen", ""}});
  request.mutable_job()->set_priority(7);  // not read
  request.mutable_update_mask()->add_paths("labels");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(job_.name(), name);
  EXPECT_THAT(job_.labels(), UnorderedElementsAre(Pair("team", "blue"), Pair("seen", "")));
  EXPECT_EQ(job_.priority(), 0);
  EXPECT_EQ(job_.attempts_size(), 1);
  EXPECT_EQ(job_.request().labels().at("team"), "red") << "as it was accepted";
  EXPECT_EQ(real_storage_->models().GetVersion("clouds", 1)->labels, (Labels{{"team", "red"}}));

  v1::ListJobsRequest list;
  (*list.mutable_labels())["team"] = "blue";
  EXPECT_EQ(TrainingHandlers(context_).ListJobs(list)->jobs_size(), 1);
  ASSERT_TRUE(Update(NewLabels(name, {})).ok()) << "without a mask: all";
  EXPECT_THAT(job_.labels(), IsEmpty());
  EXPECT_EQ(job_.display_name(), "");
}

TEST_F(LabelUpdateTest, ModelOfAQueuedJobHasItsLabelsOfTheBeginning) {
  StoreClouds(40);
  jobs_->Drain();
  NewJob job;
  job.id = "waiting";
  job.learner = "lp_mkl";
  job.dataset_ids = {"clouds"};
  job.model_name = "clouds";
  job.now = absl::UnixEpoch();
  ASSERT_TRUE(real_storage_->jobs().CreateJob(job).ok());
  Serve();
  ASSERT_TRUE(Update(NewLabels("jobs/waiting", {{"team", "blue"}})).ok());
  ClaimRequest claim;
  claim.worker = "w";
  claim.free_memory_bytes = int64_t{1} << 40;
  EXPECT_EQ((*real_storage_->jobs().ClaimJob(claim))->labels, (Labels{{"team", "blue"}}));
}

TEST_F(LabelUpdateTest, RefusesWhatUpdateModelDoes) {
  const std::string name = TrainClouds();
  Serve();
  v1::UpdateJobRequest request = NewLabels(name, {{"BAD KEY", "x"}});
  request.mutable_update_mask()->add_paths("labels");
  request.mutable_update_mask()->add_paths("priority");
  const grpc::Status bad = Update(request);
  EXPECT_EQ(bad.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(bad.error_message(), HasSubstr("there is no path 'priority'"));
  EXPECT_THAT(bad.error_message(), HasSubstr("job.labels"));
  request = NewLabels(name, {});
  request.mutable_update_mask();
  EXPECT_THAT(Update(request).error_message(), HasSubstr("is empty"));
  EXPECT_EQ(Update(NewLabels("models/clouds", {})).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(ReasonOf(Update(NewLabels("jobs/none", {}))), "NOT_FOUND");
  std::map<std::string, std::string> many;
  for (int i = 0; i < 65; ++i) {
    many[absl::StrCat("k", i)] = "";
  }
  EXPECT_EQ(Update(NewLabels(name, many)).error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(Update(NewLabels(name, {{kCallLabel, kCallLabelValue}})).error_message(),
              HasSubstr(kCallLabel))
      << "no call waits for it";

  v1::UpdateDatasetRequest dataset;
  dataset.mutable_dataset()->set_name("datasets/clouds");
  dataset.mutable_update_mask()->add_paths("description");
  EXPECT_THAT(Update(dataset).error_message(), HasSubstr("there is no path 'description'"));
  dataset.clear_update_mask();
  (*dataset.mutable_dataset()->mutable_labels())["k"] = std::string(201, 'x');
  EXPECT_THAT(Update(dataset).error_message(), HasSubstr("dataset.labels"));
  dataset.mutable_dataset()->set_name("datasets/none");
  dataset.mutable_dataset()->clear_labels();
  EXPECT_EQ(Update(dataset).error_code(), StatusCode::NOT_FOUND);
}

TEST_F(LabelUpdateTest, LabelsOfAPathThatKeepsAllStayTheServers) {
  StoreClouds(40);
  v1::TrainRequest training = CloudsRequest();
  training.mutable_path()->set_option("C");
  training.mutable_path()->add_values(1);
  training.mutable_path()->add_values(2);
  training.mutable_path()->set_keep_all(true);
  training.mutable_validation()->mutable_hold_out()->set_fraction(0.3);
  const auto job = TrainingHandlers(context_).Train(training);
  ASSERT_TRUE(job.ok()) << job.status();
  Serve();
  const grpc::Status refused = Update(NewLabels(job->name(), {{"path.value", "3"}}));
  EXPECT_THAT(refused.error_message(), HasSubstr("path.keep_all"));
  EXPECT_TRUE(Update(NewLabels(job->name(), {{"team", "blue"}})).ok());
  jobs_->WaitUntilIdle();
}

TEST_F(LabelUpdateTest, OfADataSet) {
  StoreClouds(40);
  Serve();
  v1::UpdateDatasetRequest request;
  request.mutable_dataset()->set_name("datasets/clouds");
  (*request.mutable_dataset()->mutable_labels())["of"] = "June";
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(dataset_.name(), "datasets/clouds");
  EXPECT_EQ(dataset_.rows(), 40);
  EXPECT_THAT(dataset_.labels(), ElementsAre(Pair("of", "June")));
  grpc::ClientContext context;
  v1::GetDatasetRequest get;
  get.set_name("datasets/clouds");
  v1::Dataset stored;
  ASSERT_TRUE(datasets_->GetDataset(&context, get, &stored).ok());
  EXPECT_THAT(stored.labels(), ElementsAre(Pair("of", "June")));
}

TEST_F(LabelUpdateTest, NamesOfAJobChangeAndItsRequestKeepsItsOwn) {
  StoreClouds(40);
  v1::TrainRequest training = CloudsRequest();
  training.set_display_name("first");
  (*training.mutable_labels())["team"] = "red";
  const std::string name = TrainingHandlers(context_).Train(training)->name();
  jobs_->WaitUntilIdle();
  Serve();
  grpc::ClientContext context;
  const auto reader = training_->WatchJobs(&context, v1::WatchJobsRequest());
  v1::WatchJobsResponse response;
  while (reader->Read(&response) && !response.existing_sent()) {
    if (response.has_job()) {  // and is no heartbeat
      EXPECT_EQ(response.job().display_name(), "first");
      job_ = response.job();
    }
  }
  v1::UpdateJobRequest request;
  *request.mutable_job() = job_;
  request.mutable_job()->set_display_name("second");
  request.mutable_job()->clear_labels();  // not read
  request.mutable_update_mask()->add_paths("display_name");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(job_.display_name(), "second");
  EXPECT_EQ(job_.request().display_name(), "first") << "as it was accepted";
  EXPECT_THAT(job_.labels(), ElementsAre(Pair("team", "red")));
  EXPECT_NE(job_.etag(), request.job().etag());
  ASSERT_TRUE(ReadJob(*reader, response));
  EXPECT_EQ(response.job().display_name(), "second");
  EXPECT_EQ(response.job().etag(), job_.etag());
  context.TryCancel();

  v1::ListJobsRequest list;
  list.set_filter("display_name = second");
  EXPECT_EQ(TrainingHandlers(context_).ListJobs(list)->jobs_size(), 1);
  request.mutable_job()->set_display_name("third");
  const grpc::Status stale = Update(request);
  EXPECT_EQ(stale.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(stale), "STALE_ETAG");
  request.mutable_job()->set_display_name(std::string(201, 'x'));
  EXPECT_THAT(Update(request).error_message(), HasSubstr("job.display_name"));
}

TEST_F(LabelUpdateTest, NamesOfADataSetChange) {
  StoreClouds(40);
  Serve();
  v1::UpdateDatasetRequest request;
  request.mutable_dataset()->set_name("datasets/clouds");
  request.mutable_dataset()->set_display_name("of June");
  request.mutable_update_mask()->add_paths("display_name");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_EQ(dataset_.display_name(), "of June");
  const std::string etag = dataset_.etag();
  request.mutable_dataset()->set_etag(etag);
  request.mutable_dataset()->set_display_name("of July");
  ASSERT_TRUE(Update(request).ok());
  EXPECT_NE(dataset_.etag(), etag);
  request.mutable_dataset()->set_display_name("of August");
  const grpc::Status stale = Update(request);
  EXPECT_EQ(stale.error_code(), StatusCode::ABORTED);
  EXPECT_EQ(ReasonOf(stale), "STALE_ETAG");
  EXPECT_EQ(real_storage_->datasets().GetDataset("clouds")->display_name, "of July");
}

TEST_F(LabelUpdateTest, WatchersHearWhetherTheJobIsTheirsNow) {
  const std::string name = TrainClouds();
  Serve();
  grpc::ClientContext context;
  v1::WatchJobsRequest filter;
  (*filter.mutable_labels())["team"] = "blue";
  const auto reader = training_->WatchJobs(&context, filter);
  v1::WatchJobsResponse response;
  while (reader->Read(&response) && !response.existing_sent()) {
    EXPECT_FALSE(response.has_job());
  }
  ASSERT_TRUE(Update(NewLabels(name, {{"team", "blue"}})).ok());
  ASSERT_TRUE(ReadJob(*reader, response));
  EXPECT_EQ(response.job().name(), name);
  EXPECT_FALSE(response.left());
  ASSERT_TRUE(Update(NewLabels(name, {{"team", "red"}})).ok());
  ASSERT_TRUE(ReadJob(*reader, response));
  EXPECT_EQ(response.job().name(), name);
  EXPECT_TRUE(response.left());
  EXPECT_FALSE(response.deleted());
  context.TryCancel();
}

}  // namespace
}  // namespace mercer::server

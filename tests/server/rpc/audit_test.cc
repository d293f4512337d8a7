#include "server/rpc/audit.h"

#include <gtest/gtest.h>

#include "mercer/v1/dataset_service.pb.h"
#include "mercer/v1/model_service.pb.h"
#include "mercer/v1/training_service.pb.h"

namespace mercer::server {
namespace {

TEST(AuditTest, RefusedUpdatesNameWhatTheyWereAbout) {
  v1::UpdateJobRequest job;
  job.mutable_job()->set_name("jobs/a");
  EXPECT_EQ(SubjectOf(job, v1::Job(), "ada").resource, "jobs/a");
  EXPECT_EQ(SubjectOf(job, v1::Job(), "ada").owner, "ada");
  v1::UpdateDatasetRequest dataset;
  dataset.mutable_dataset()->set_name("datasets/d");
  EXPECT_EQ(SubjectOf(dataset, v1::Dataset(), "").resource, "datasets/d");
  v1::UpdateModelVersionRequest model;
  model.mutable_model_version()->set_name("models/m/versions/1");
  EXPECT_EQ(SubjectOf(model, v1::ModelVersion(), "").resource, "models/m/versions/1");
  v1::DeleteJobRequest removed;
  removed.set_name("jobs/b");
  EXPECT_EQ(SubjectOf(removed, v1::Job(), "").resource, "jobs/b");
}

}  // namespace
}  // namespace mercer::server

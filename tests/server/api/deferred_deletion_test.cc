// Data sets that are deleted when the last job that needs them has ended.
#include <gmock/gmock.h>

#include "core/base/status/errors.h"
#include "server/api/dataset_handlers.h"
#include "tests/server/api/api_fixture.h"

namespace mercer::server {
namespace {

class DeferredDeletionTest : public ApiTest {
 protected:
  DeferredDeletionTest() {
    jobs_->Drain();  // nobody runs what is queued
    StoreClouds(20);
    NewJob job;
    job.id = "waiting";
    job.request_digest = "digest";
    job.learner = "lp_mkl";
    job.dataset_ids = {"clouds"};
    job.model_name = "clouds";
    job.now = absl::UnixEpoch();
    EXPECT_TRUE(real_storage_->jobs().CreateJob(job).ok());
  }

  absl::Status Delete(bool when_unused) {
    v1::DeleteDatasetRequest request;
    request.set_name("datasets/clouds");
    request.set_when_unused(when_unused);
    return DatasetHandlers(context_).DeleteDataset(request).status();
  }
  absl::Status Get() {
    v1::GetDatasetRequest request;
    request.set_name("datasets/clouds");
    return DatasetHandlers(context_).GetDataset(request).status();
  }
  size_t Blobs() { return real_blobs_->List()->size(); }
};

TEST_F(DeferredDeletionTest, HidesTheDataSetAtOnceAndDeletesItAfterItsLastJob) {
  EXPECT_EQ(GetReason(Delete(false)), "DATASET_IN_USE");
  EXPECT_TRUE(Get().ok());
  ASSERT_TRUE(Delete(true).ok());
  EXPECT_EQ(Get().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Delete(true).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(DatasetHandlers(context_).ListDatasets({})->datasets_size(), 0);
  EXPECT_EQ(jobs_->OpenDataset("clouds", CancellationToken()).status().code(),
            absl::StatusCode::kNotFound);
  jobs_->RunHousekeeping();
  EXPECT_TRUE(real_storage_->datasets().GetDataset("clouds").ok()) << "its job needs it";
  EXPECT_EQ(Blobs(), 1u);
  ASSERT_TRUE(jobs_->Cancel("waiting").ok());
  jobs_->RunHousekeeping();
  EXPECT_EQ(real_storage_->datasets().GetDataset("clouds").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Blobs(), 0u);
}

TEST_F(DeferredDeletionTest, IdIsFreeAgainAfterTheLastJob) {
  ASSERT_TRUE(Delete(true).ok());
  v1::UploadDatasetRequest message;
  v1::UploadHeader& header = *message.mutable_header();
  header.set_dataset_id("clouds");
  header.set_upload_id("u");
  header.set_sha256(std::string(64, '0'));
  header.set_total_bytes(10);
  header.add_parts()->mutable_csv();
  const absl::Status refused = DatasetUpload(context_).Add(message);
  EXPECT_EQ(GetReason(refused), "DATASET_EXISTS") << refused;
  EXPECT_THAT(std::string(refused.message()),
              testing::HasSubstr("as soon as the last job that needs it has ended"));
  ASSERT_TRUE(jobs_->Cancel("waiting").ok());
  jobs_->RunHousekeeping();
  EXPECT_TRUE(DatasetUpload(context_).Add(message).ok());
}

TEST_F(DeferredDeletionTest, DeletesAtOnceWhatNoJobNeeds) {
  ASSERT_TRUE(jobs_->Cancel("waiting").ok());
  ASSERT_TRUE(Delete(true).ok());
  EXPECT_EQ(real_storage_->datasets().GetDataset("clouds").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(Blobs(), 0u);
}

}  // namespace
}  // namespace mercer::server

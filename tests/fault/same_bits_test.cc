// The same job gives the same model, byte for byte, whatever the threads and the caches.
#include <map>

#include "tests/fault/fault_fixture.h"

namespace mercer::server {
namespace {

using SameBitsTest = FaultTest;

// One request for each learner, by its name.
std::map<std::string, v1::TrainRequest> Requests(const v1::TrainRequest& selection) {
  const v1::KernelGrid& kernels = selection.learner().lp_mkl().kernels(0);
  std::map<std::string, v1::TrainRequest> requests;
  requests["lp_mkl"] = selection;
  requests["svm"] = selection;
  *requests["svm"].mutable_learner()->mutable_svm()->add_kernels() = kernels;
  requests["kernel_ridge"] = selection;
  *requests["kernel_ridge"].mutable_learner()->mutable_kernel_ridge()->add_kernels() = kernels;
  for (auto& [name, request] : requests) {
    request.mutable_validation()->mutable_folds()->set_count(3);
  }
  return requests;
}

TEST_F(SameBitsTest, ModelDoesNotDependOnThreadsOrCaches) {
  ServerProcessOptions cached = Options("cached");
  cached.flags = {"--workers=1"};
  ServerProcess with_cache(cached);
  ServerProcessOptions bare = Options("bare");
  bare.flags = {"--workers=2", "--cache-mb=0", "--checkpoint-interval=0"};
  ServerProcess without_cache(bare);
  ASSERT_TRUE(with_cache.WaitUntilListening()) << with_cache.Log();
  ASSERT_TRUE(without_cache.WaitUntilListening()) << without_cache.Log();
  client::Client first(OneTry(with_cache.address()));
  client::Client second(OneTry(without_cache.address()));
  // Enough rows for several tiles.
  EXPECT_EQ(UploadClouds(first, 700).digest(), UploadClouds(second, 700).digest());

  for (auto& [learner, request] : Requests(CloudsRequest())) {
    SCOPED_TRACE(learner);
    request.set_threads(1);
    const std::string expected = ExportedDigest(first, TrainToEnd(first, request));
    EXPECT_EQ(ExportedDigest(first, TrainToEnd(first, request)), expected) << "warm cache";
    request.set_threads(2);
    EXPECT_EQ(ExportedDigest(first, TrainToEnd(first, request)), expected) << "two threads, warm";
    EXPECT_EQ(ExportedDigest(second, TrainToEnd(second, request)), expected)
        << "two threads, no cache";
    request.set_seed(request.seed() + 1);
    EXPECT_NE(ExportedDigest(first, TrainToEnd(first, request)), expected) << "another seed";
  }
}

}  // namespace
}  // namespace mercer::server

// The same job gives the same model, byte for byte, whatever the threads and the caches.
#include <cstdlib>
#include <map>
#include <string>

#include "absl/strings/str_cat.h"

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
  requests["csi"] = selection;
  *requests["csi"].mutable_learner()->mutable_csi()->add_kernels() = kernels;
  requests["ikl"] = selection;
  requests["ikl"].mutable_learner()->mutable_ikl();
  requests["mixed_norm_mkl"] = selection;
  v1::MixedNormMkl& mixed_norm =
      *requests["mixed_norm_mkl"].mutable_learner()->mutable_mixed_norm_mkl();
  for (const char* group : {"one", "other"}) {
    v1::KernelGrid& grouped = *mixed_norm.add_kernels();
    grouped = kernels;
    grouped.set_group(group);
    grouped.set_name(group);
  }
  requests["infinite_features"] = selection;
  requests["infinite_features"].mutable_learner()->mutable_infinite_features()->set_max_groups(12);
  requests["sparse_multitask_svm"] = selection;
  requests["sparse_multitask_svm"].mutable_learner()->mutable_sparse_multitask_svm();
  requests["svm_rfe"] = selection;
  requests["svm_rfe"].mutable_learner()->mutable_svm_rfe();
  requests["coordinate_gradients"] = selection;
  requests["coordinate_gradients"].mutable_learner()->mutable_coordinate_gradients();
  for (auto& [name, request] : requests) {
    request.mutable_validation()->mutable_folds()->set_count(3);
  }
  return requests;
}

// The metrics of the folds: which rows are in which fold is what the seed decides for every learner.
std::string FoldMetrics(client::Client& client, const std::string& name) {
  const absl::StatusOr<v1::ModelVersion> model =
      client.GetModelVersion(name, v1::MODEL_VERSION_VIEW_FULL);
  EXPECT_TRUE(model.ok()) << name << ": " << model.status();
  if (!model.ok()) {
    return "";
  }
  std::string metrics;
  for (const v1::Metric& metric : model->metrics()) {
    absl::StrAppend(&metrics, metric.ShortDebugString(), "\n");
  }
  EXPECT_NE(metrics, "") << name;
  return metrics;
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

  auto requests = Requests(CloudsRequest());
  const absl::StatusOr<v1::ListLearnersResponse> learners = first.ListLearners();
  ASSERT_TRUE(learners.ok()) << learners.status();
  ASSERT_FALSE(learners->learners().empty());
  for (const v1::LearnerDescription& learner : learners->learners()) {
    EXPECT_EQ(requests.count(learner.name()), 1U) << "Requests() needs one for " << learner.name();
  }
  for (auto& [learner, request] : requests) {
    SCOPED_TRACE(learner);
    request.set_threads(1);
    const std::string model = TrainToEnd(first, request);
    const std::string expected = ExportedDigest(first, model);
    EXPECT_EQ(ExportedDigest(first, TrainToEnd(first, request)), expected) << "warm cache";
    request.set_threads(2);
    EXPECT_EQ(ExportedDigest(first, TrainToEnd(first, request)), expected) << "two threads, warm";
    EXPECT_EQ(ExportedDigest(second, TrainToEnd(second, request)), expected)
        << "two threads, no cache";
    request.set_seed(request.seed() + 1);
    EXPECT_NE(FoldMetrics(first, TrainToEnd(first, request)), FoldMetrics(first, model))
        << "another seed";
  }
}

// Stands for two processors, by what OpenBLAS takes them for.
TEST_F(SameBitsTest, ReproducibleServersDoNotDependOnTheProcessor) {
  std::map<std::string, std::string> digests;
  for (const char* core : {"Prescott", "Nehalem"}) {
    SCOPED_TRACE(core);
    setenv("OPENBLAS_CORETYPE", core, /*overwrite=*/1);
    ServerProcessOptions options = Options(core);
    options.flags = {"--reproducible", "--workers=1"};
    ServerProcess server(options);
    unsetenv("OPENBLAS_CORETYPE");
    ASSERT_TRUE(server.WaitUntilListening()) << server.Log();
    client::Client client(OneTry(server.address()));
    UploadClouds(client, 700);
    for (const auto& [learner, request] : Requests(CloudsRequest())) {
      const std::string digest = ExportedDigest(client, TrainToEnd(client, request));
      const auto [known, is_new] = digests.emplace(learner, digest);
      EXPECT_EQ(known->second, digest) << learner;
    }
    server.Terminate();
    EXPECT_EQ(server.WaitForExit(), 0) << "the process that listens is the one that was started";
  }
}

}  // namespace
}  // namespace mercer::server

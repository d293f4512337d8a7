// A regression gives the same in every unit of its target, from the request to the verification of the stored model.
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "tests/integration/test_server.h"

namespace mercer::server {
namespace {

// y = unit (sin x1 + x2 / 2 + noise + 9).
std::string Waves(double unit) {
  RandomStream random(3, "waves");
  std::string csv = "x1,x2,label\n";
  for (int row = 0; row < 120; ++row) {
    const double x1 = random.Normal();
    const double x2 = random.Normal();
    const double y = unit * (std::sin(x1) + 0.5 * x2 + 0.1 * random.Normal() + 9.0);
    absl::StrAppend(&csv, x1, ",", x2, ",", y, "\n");
  }
  return csv;
}

class TargetScalingTest : public ServerTest {
 protected:
  v1::Job TrainWaves(double unit, const std::string& name, v1::TargetScaling scaling) {
    v1::Dataset dataset;
    EXPECT_TRUE(Upload(Waves(unit), name, &dataset).ok());
    v1::TrainRequest request;
    request.add_data()->set_dataset(absl::StrCat("datasets/", name));
    request.set_target_kind(v1::TARGET_KIND_REGRESSION);
    request.set_target_scaling(scaling);
    v1::KernelGrid& grid = *request.mutable_learner()->mutable_svm()->add_kernels();
    grid.set_type(v1::KERNEL_TYPE_GAUSSIAN);
    grid.add_bandwidths(2);
    request.mutable_validation()->mutable_hold_out();
    request.set_model(absl::StrCat("models/", name));
    return WaitForEnd(TrainOk(request).name());
  }
  std::map<std::string, double> MetricsOf(const std::string& model, v1::Certificate* certificate) {
    grpc::ClientContext context;
    v1::GetModelVersionRequest request;
    request.set_name(model);
    v1::ModelVersion read;
    EXPECT_TRUE(models_->GetModelVersion(&context, request, &read).ok());
    *certificate = read.certificate();
    std::map<std::string, double> metrics;
    for (const v1::Metric& metric : read.metrics()) {
      metrics[metric.name()] = metric.value();
    }
    return metrics;
  }
  bool IsVerified(const std::string& model) {
    grpc::ClientContext context;
    v1::VerifyModelRequest request;
    request.set_name(model);
    v1::VerifyModelResponse response;
    const grpc::Status status = models_->VerifyModel(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.matches();
  }
};

TEST_F(TargetScalingTest, UnitOfTheTargetDoesNotMatter) {
  StartServer();
  const v1::Job plain = TrainWaves(1, "plain", v1::TARGET_SCALING_UNSPECIFIED);
  ASSERT_EQ(plain.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(plain.request().target_scaling(), v1::TARGET_SCALING_STANDARDIZE);
  v1::Certificate certificate;
  auto metrics = MetricsOf("models/plain", &certificate);
  EXPECT_GT(metrics["held_out.r2"], 0.7);
  EXPECT_TRUE(IsVerified("models/plain"));
  for (const double unit : {1e5, 1e-3}) {
    const std::string name = unit > 1 ? "large" : "small";
    ASSERT_EQ(TrainWaves(unit, name, v1::TARGET_SCALING_UNSPECIFIED).state(),
              v1::JOB_STATE_SUCCEEDED);
    v1::Certificate other;
    auto found = MetricsOf("models/" + name, &other);
    // The table tells the targets to six digits.
    EXPECT_NEAR(found["held_out.r2"], metrics["held_out.r2"], 1e-3);
    EXPECT_NEAR(found["held_out.rmse"], unit * metrics["held_out.rmse"], 1e-3 * unit);
    EXPECT_NEAR(other.primal(), unit * unit * certificate.primal(),
                0.01 * unit * unit * certificate.primal());
    EXPECT_LE(other.accuracy(), 1e-3);
    EXPECT_TRUE(IsVerified("models/" + name));
  }
}

TEST_F(TargetScalingTest, NoneKeepsTheUnit) {
  StartServer();
  const v1::Job job = TrainWaves(1e-3, "raw", v1::TARGET_SCALING_NONE);
  ASSERT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.request().target_scaling(), v1::TARGET_SCALING_NONE);
  v1::Certificate certificate;
  EXPECT_LT(MetricsOf("models/raw", &certificate)["held_out.r2"], 0.1)
      << "an epsilon of 0.1 takes all of it for one value";
  EXPECT_TRUE(IsVerified("models/raw"));
}

}  // namespace
}  // namespace mercer::server

// What the prediction of a data set takes of memory, and the look through what it has written, beside its estimate.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/io/quality/quality_scan.h"
#include "core/training/model/model.h"
#include "core/training/model/predictor.h"
#include "server/prediction/dataset_prediction.h"
#include "server/translation/quality_translator.h"
#include "tests/support/peak_growth.h"

namespace mercer::server {
namespace {

// Two features and the target "y"; no two rows are equal.
Dataset Table(Index rows) {
  Dataset dataset;
  dataset.rows = rows;
  FeatureBlock& block = dataset.blocks.emplace_back();
  block.name = std::string(kDefaultBlock);
  block.columns = {{"a", false, {}}, {"b", false, {}}};
  RowMatrix values(rows, 2);
  values.col(0).setLinSpaced(-1, 1);
  values.col(1) = values.col(0).array().square();
  block.values = SharedMatrix(std::move(values));
  RoleColumn& target = dataset.role_columns.emplace_back();
  target.role = ColumnRole::kTarget;
  target.schema.name = "y";
  target.values = Vector::LinSpaced(rows, 0, 1);
  return dataset;
}

std::unique_ptr<Predictor> MakePredictor() {
  const Dataset training = Table(8);
  const std::vector<Index> all = IndexRange(0, 8);
  const RunContext context;
  auto model = std::make_shared<Model>();
  model->preprocessing = Preprocessing::Fit(training, all, PreprocessingOptions(), context).value();
  const PreparedData prepared = model->preprocessing.Apply(training, context).value();
  model->function = MakeKernelFunction(prepared, all, {KernelSpec()}, Vector::Ones(1),
                                       Vector::LinSpaced(8, 1, 2), 0.5);
  return Predictor::Make(std::move(model)).value();
}

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path) : file_(path, std::ios::binary) {}
  absl::Status Write(std::string_view bytes) override {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file_.flush() ? absl::OkStatus() : absl::InternalError("no file");
  }

 private:
  std::ofstream file_;
};

TEST(PredictionMemoryTest, IsNoMoreThanItsEstimate) {
  const Dataset source = Table(6'000'000);
  const std::unique_ptr<Predictor> predictor = MakePredictor();
  DatasetPrediction asked;
  asked.kept_columns = {"y", "b"};
  const std::string path = std::filesystem::temp_directory_path() /
                           ("mercer-prediction-memory-" + std::to_string(getpid()));
  Dataset predicted;  // stays mapped until its pages are counted
  int64_t mapped = 0;
  const int64_t growth = PeakGrowth(
      [&] {
        RunContext context;
        FileSink sink(path);
        PredictedRows rows;
        const absl::Status done =
            WritePredictions(*predictor, source, asked, context, nullptr, sink, rows);
        auto opened = OpenDataset(path);
        if (!done.ok() || !opened.ok()) {
          return false;
        }
        predicted = *std::move(opened);
        const auto goes_on = [] { return false; };
        quality::Scan scan;
        return quality::ScanDataset(predicted, goes_on, scan).ok() &&
               DescribeWithQuality(predicted, scan, goes_on).ok();
      },
      &mapped);
  std::filesystem::remove(path);
  ASSERT_GT(growth, 0);
  if (kGrowthIsMemoryHeld) {
    const int64_t estimate = PredictionBytes(predictor->model(), source, asked);
    EXPECT_LE(growth - mapped, estimate);
    EXPECT_LT(estimate, 3 * (growth - mapped));
  }
}

}  // namespace
}  // namespace mercer::server

// What a run with tables in files takes of memory, against its estimate.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <malloc.h>
#include <new>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/io/store/dataset_file.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/training/scripted_learner.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

constexpr Index kRows = 30'000;
constexpr Index kColumns = 400;  // 96 MB of numbers
constexpr int64_t kTable = kRows * kColumns * 8;

class FileSink final : public ByteSink {
 public:
  explicit FileSink(const std::string& path) : file_(path, std::ios::binary) {}
  absl::Status Write(std::string_view bytes) override {
    file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file_.good() ? absl::OkStatus() : absl::InternalError("cannot write");
  }
  void Close() { file_.close(); }

 private:
  std::ofstream file_;
};

// Private memory that the process has the right to write to; what is mapped from files is none of it.
int64_t WritableBytes() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    if (word == "VmData:") {
      int64_t kilobytes = 0;
      status >> kilobytes;
      return 1024 * kilobytes;
    }
  }
  return 0;
}

// Whether `work` is true in a child that may have so many bytes more than after `first_use`, with which libraries take what they keep.
bool SucceedsWithin(int64_t bytes, const std::function<bool()>& first_use,
                    const std::function<bool()>& work) {
  malloc_trim(0);
  const pid_t child = fork();
  if (child == 0) {
    // One heap, which grows by what is needed; no thread is there that would want its own.
    mallopt(M_ARENA_MAX, 1);
    const bool used = first_use();
    const auto limit = static_cast<rlim_t>(WritableBytes() + bytes);
    const rlimit limits = {limit, limit};
    bool done = false;
    try {
      done = used && setrlimit(RLIMIT_DATA, &limits) == 0 && work();
    } catch (const std::bad_alloc&) {
      done = false;
    }
    _exit(done ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

class ScratchMemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kGrowthIsMemoryHeld) {
      GTEST_SKIP() << "sanitizers keep freed memory";
    }
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mercer-scratch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    FileSink sink(path());
    ASSERT_TRUE(EncodeDataset(ClassificationData(kRows, kColumns, 2, 3), sink).ok());
    sink.Close();
  }
  void TearDown() override {
    if (!folder_.empty()) {
      std::filesystem::remove_all(folder_);
    }
  }

  std::string path() const { return folder_ + "/data"; }
  static const LearnerEntry& Entry() {
    static const auto& entry = *new LearnerEntry(lp_mkl::Entry());
    return entry;
  }
  static TrainingRecipe Recipe(ValidationKind validation) {
    TrainingRecipe recipe;
    recipe.learner = "lp_mkl";
    recipe.options = {{"approximation", std::string("nystrom")},
                      {"landmarks", int64_t{30}},
                      {"landmark_selection", std::string("uniform")}};
    KernelGrid all;
    all.rule = BandwidthRule::kMedianMultiples;
    all.bandwidths = {0.5, 1.0};
    KernelGrid some = all;
    for (Index column = 1; column < kColumns; ++column) {
      some.prototype.columns.push_back("x" + std::to_string(column));
    }
    recipe.kernels = {all, some};
    recipe.validation.kind = validation;
    recipe.limits.relative_gap = 0.1;
    return recipe;
  }
  static bool Train(const TrainingRecipe& recipe, const Dataset& data, const ScratchSpace* space) {
    RunContext context;
    context.set_scratch(space);
    RecordingObserver observer;
    return RunRecipe({&Entry(), &recipe, &data, "", "v"}, {}, context, observer).ok();
  }
  bool TrainsWithin(int64_t bytes, const TrainingRecipe& recipe, const ScratchSpace* space) const {
    return SucceedsWithin(
        bytes, [&] { return Train(recipe, ClassificationData(500, kColumns, 2, 3), nullptr); },
        [&] {
          const absl::StatusOr<Dataset> data = OpenDataset(path());
          return data.ok() && Train(recipe, *data, space);
        });
  }

  std::string folder_;
};

TEST_F(ScratchMemoryTest, TablesInFilesCountNothing) {
  const absl::StatusOr<Dataset> data = OpenDataset(path());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_LT(data->MemoryBytes(), kTable / 20);
  const ScratchSpace space(folder_, 1 << 20);
  const ScratchSpace larger(folder_, kTable);
  for (const ValidationKind validation : {ValidationKind::kNone, ValidationKind::kFolds}) {
    const TrainingRecipe recipe = Recipe(validation);
    const auto estimate = [&](const ScratchSpace* with) {
      const absl::StatusOr<size_t> bytes =
          EstimateRecipeMemory(Entry(), recipe, *data, RunContext(), with);
      EXPECT_TRUE(bytes.ok()) << bytes.status();
      return static_cast<int64_t>(bytes.value_or(0));
    };
    EXPECT_GT(estimate(nullptr), 2 * kTable);
    EXPECT_EQ(estimate(&larger), estimate(nullptr));
    EXPECT_LT(estimate(&space), estimate(nullptr) - kTable - kTable / 2);
  }
}

TEST_F(ScratchMemoryTest, RunsFitIntoTheirEstimate) {
  const absl::StatusOr<Dataset> data = OpenDataset(path());
  ASSERT_TRUE(data.ok()) << data.status();
  const ScratchSpace space(folder_, 1 << 20);
  for (const ValidationKind validation : {ValidationKind::kNone, ValidationKind::kHoldOut}) {
    const TrainingRecipe recipe = Recipe(validation);
    const auto estimate =
        static_cast<int64_t>(*EstimateRecipeMemory(Entry(), recipe, *data, RunContext(), &space));
    EXPECT_TRUE(TrainsWithin(estimate, recipe, &space)) << "within " << estimate;
    // The limit is no empty word: the table and its training rows alone do not fit into it.
    if (validation == ValidationKind::kHoldOut) {
      ASSERT_LT(estimate, kTable * 3 / 2);
      EXPECT_FALSE(TrainsWithin(estimate, recipe, nullptr)) << "within " << estimate;
    }
  }
}

}  // namespace
}  // namespace mercer

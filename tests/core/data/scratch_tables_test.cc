// Tables that are kept in files: the same numbers as in memory, and what happens when it does not work.
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "core/data/preprocess/preprocessing.h"
#include "core/data/table/table_writer.h"
#include "tests/core/data/data_test_util.h"

namespace mercer {
namespace {

constexpr Index kRows = 5000;

// Numbers with missing ones, colours with missing ones, and a sparse block.
Dataset MixedDataset(bool missing) {
  RandomStream random(5, "scratch-tables-test");
  RowMatrix values(kRows, 30);
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = random.Normal();
  }
  Dataset dataset;
  dataset.rows = kRows;
  dataset.blocks.resize(2);
  FeatureBlock& dense = dataset.blocks[0];
  dense.name = "dense";
  for (Index c = 0; c < 30; ++c) {
    dense.columns.push_back({"c" + std::to_string(c), false, {}});
  }
  dense.columns[7] = {"colour", true, {"red", "green", "blue"}};
  FeatureBlock& sparse = dataset.blocks[1];
  sparse.name = "sparse";
  sparse.is_sparse = true;
  sparse.sparse.columns = 11;
  for (Index row = 0; row < kRows; ++row) {
    values(row, 7) = static_cast<double>((row / 7) % 3);
    if (missing && row % 13 == 5) {
      values(row, 4) = std::nan("");
      values(row, 7) = std::nan("");
    }
    sparse.sparse.column_indices.push_back(static_cast<int32_t>(row % 11));
    sparse.sparse.values.push_back(0.5 + static_cast<double>(row % 7));
    sparse.sparse.row_starts.push_back(row + 1);
  }
  dense.values = SharedMatrix(std::move(values));
  return dataset;
}

std::vector<Index> EveryThird() {
  std::vector<Index> rows;
  for (Index row = 1; row < kRows; row += 3) {
    rows.push_back(row);
  }
  return rows;
}

void ExpectSameBits(const PreparedData& a, const PreparedData& b) {
  ASSERT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.row_numbers, b.row_numbers);
  ASSERT_EQ(a.blocks.size(), b.blocks.size());
  for (size_t i = 0; i < a.blocks.size(); ++i) {
    EXPECT_EQ(a.blocks[i].sources, b.blocks[i].sources);
    const auto x = a.blocks[i].values.view();
    const auto y = b.blocks[i].values.view();
    ASSERT_EQ(x.rows(), y.rows());
    ASSERT_EQ(x.cols(), y.cols());
    EXPECT_EQ(std::memcmp(x.data(), y.data(), TableBytes(x.rows(), x.cols())), 0) << "block " << i;
  }
}

// Cancels the run in the moment in which the file is made, so that the first rows are on their way.
class CancellingSpace final : public ScratchSpace {
 public:
  CancellingSpace(const std::string& folder, CancellationToken token)
      : ScratchSpace(folder, 0), token_(std::move(token)) {}

 protected:
  int Allocate(int descriptor, size_t size) const override {
    token_.Cancel();
    return ScratchSpace::Allocate(descriptor, size);
  }

 private:
  const CancellationToken token_;
};

class FullSpace final : public ScratchSpace {
 public:
  using ScratchSpace::ScratchSpace;

 protected:
  int Allocate(int, size_t) const override { return ENOSPC; }
};

constexpr Index kManyRows = 40'000;

// Rows that have a category each: 12 GiB of zeros and ones.
Dataset ManyCategories() {
  Dataset dataset;
  dataset.rows = kManyRows;
  FeatureBlock& block = dataset.blocks.emplace_back();
  block.name = "names";
  ColumnSchema& column = block.columns.emplace_back();
  column = {"name", true, {}};
  for (Index c = 0; c < kManyRows; ++c) {
    column.categories.push_back("c" + std::to_string(c));
  }
  block.values = SharedMatrix(RowMatrix(Vector::LinSpaced(kManyRows, 0, kManyRows - 1)));
  return dataset;
}

Dataset WideSparse(Index rows, Index columns) {
  Dataset dataset;
  dataset.rows = rows;
  FeatureBlock& block = dataset.blocks.emplace_back();
  block.name = "words";
  block.is_sparse = true;
  block.sparse.columns = columns;
  block.sparse.row_starts.assign(static_cast<size_t>(rows) + 1, 0);
  return dataset;
}

class ScratchTablesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mercer-tables-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  static absl::StatusOr<PreparedData> Prepare(const Dataset& dataset,
                                              const PreprocessingOptions& options,
                                              const ScratchSpace* space) {
    RunContext context;
    context.set_scratch(space);
    const absl::StatusOr<Preprocessing> fitted =
        Preprocessing::Fit(dataset, EveryThird(), options, context);
    return fitted.ok() ? fitted->Apply(dataset, context) : fitted.status();
  }

  std::string folder_;
};

TEST_F(ScratchTablesTest, TablesInFilesHaveTheBitsOfTablesInMemory) {
  const ScratchSpace space(folder_, 0);
  for (const Scaling scaling :
       {Scaling::kNone, Scaling::kStandardize, Scaling::kMinMax, Scaling::kUnitNorm}) {
    for (const bool missing : {false, true}) {
      PreprocessingOptions options;
      options.scaling = scaling;
      options.imputation = missing ? Imputation::kMeanOrMostFrequent : Imputation::kRefuse;
      const Dataset dataset = MixedDataset(missing);
      const absl::StatusOr<PreparedData> in_memory = Prepare(dataset, options, nullptr);
      const absl::StatusOr<PreparedData> in_files = Prepare(dataset, options, &space);
      ASSERT_TRUE(in_memory.ok()) << in_memory.status();
      ASSERT_TRUE(in_files.ok()) << in_files.status();
      EXPECT_TRUE(in_files->blocks[0].values.in_file());
      EXPECT_TRUE(in_files->blocks[1].values.in_file());
      EXPECT_FALSE(in_memory->blocks[0].values.in_file());
      ExpectSameBits(*in_memory, *in_files);
      RunContext context;
      context.set_scratch(&space);
      const absl::StatusOr<PreparedData> selected = SelectRows(*in_files, EveryThird(), context);
      ASSERT_TRUE(selected.ok()) << selected.status();
      EXPECT_TRUE(selected->blocks[0].values.in_file());
      ExpectSameBits(SelectRows(*in_memory, EveryThird()), *selected);
    }
  }
}

TEST_F(ScratchTablesTest, TablesUpToTheLimitStayInMemory) {
  const Dataset dataset = MixedDataset(false);
  const size_t dense = TableBytes(kRows, 32);  // three colours in the place of one column
  for (const bool larger : {false, true}) {
    const ScratchSpace space(folder_, larger ? dense - 1 : dense);
    const absl::StatusOr<PreparedData> prepared = Prepare(dataset, {}, &space);
    ASSERT_TRUE(prepared.ok()) << prepared.status();
    EXPECT_EQ(prepared->blocks[0].values.in_file(), larger);
    EXPECT_FALSE(prepared->blocks[1].values.in_file());
    // A part is kept where the whole is, however small it is.
    RunContext context;
    context.set_scratch(&space);
    const absl::StatusOr<PreparedData> part = SelectRows(*prepared, {3, 1}, context);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->blocks[0].values.in_file(), larger);
  }
}

TEST_F(ScratchTablesTest, TableThatChangesNothingIsTheDataSetsOwn) {
  Dataset dataset = MixedDataset(false);
  dataset.blocks.pop_back();
  dataset.blocks[0].columns[7] = {"number", false, {}};
  const double* const own = dataset.blocks[0].values.view().data();
  PreprocessingOptions options;
  options.scaling = Scaling::kNone;
  const absl::StatusOr<PreparedData> shared = Prepare(dataset, options, nullptr);
  ASSERT_TRUE(shared.ok()) << shared.status();
  EXPECT_EQ(shared->blocks[0].values.view().data(), own);
  EXPECT_EQ(shared->blocks[0].sources[7], "number");
  options.scaling = Scaling::kUnitNorm;
  const absl::StatusOr<PreparedData> scaled = Prepare(dataset, options, nullptr);
  ASSERT_TRUE(scaled.ok()) << scaled.status();
  EXPECT_NE(scaled->blocks[0].values.view().data(), own);

  Dataset with_missing = MixedDataset(true);
  with_missing.blocks.pop_back();
  with_missing.blocks[0].columns[7] = {"number", false, {}};
  options.scaling = Scaling::kNone;
  options.imputation = Imputation::kMeanOrMostFrequent;
  const absl::StatusOr<PreparedData> imputed = Prepare(with_missing, options, nullptr);
  ASSERT_TRUE(imputed.ok()) << imputed.status();
  EXPECT_TRUE(imputed->blocks[0].values.view().allFinite());
}

TEST_F(ScratchTablesTest, FullDiskIsAnErrorOfTheTable) {
  const FullSpace space(folder_, 0);
  const absl::Status status = Prepare(MixedDataset(false), {}, &space).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(GetReason(status), "DISK_FULL");
}

// The disk is asked for its room; without one the memory is.
TEST_F(ScratchTablesTest, TablesTooLargeForMemoryAreLimitedByTheDisk) {
  const FullSpace full(folder_, 0);
  const std::vector<Index> all = IndexRange(0, kManyRows);
  const Dataset categories = ManyCategories();
  const Dataset words = WideSparse(kManyRows, kManyRows);
  const absl::StatusOr<Preprocessing> of_categories =
      Preprocessing::Fit(categories, all, {}, RunContext());
  const absl::StatusOr<Preprocessing> of_words =
      Preprocessing::Fit(words, {0, 1}, {}, RunContext());
  ASSERT_TRUE(of_categories.ok()) << of_categories.status();
  ASSERT_TRUE(of_words.ok()) << of_words.status();
  for (const ScratchSpace* space : std::vector<const ScratchSpace*>{nullptr, &full}) {
    RunContext context;
    context.set_scratch(space);
    for (const absl::Status& status : {of_categories->Apply(categories, context).status(),
                                       of_words->Apply(words, context).status()}) {
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
      EXPECT_EQ(GetReason(status), space == nullptr ? "" : "DISK_FULL") << status;
    }
  }
}

// What cannot become a table is refused before its rows are read, and nothing else is.
TEST_F(ScratchTablesTest, SparseRowsAreNotReadForATableThatMemoryCannotHold) {
  const Dataset words = WideSparse(kManyRows, kManyRows);
  const std::vector<Index> all = IndexRange(0, kManyRows);
  const ScratchSpace space(folder_, 0);
  const CancellationToken token;
  token.Cancel();
  RunContext context(token, 1, nullptr);
  EXPECT_TRUE(absl::IsResourceExhausted(Preprocessing::Fit(words, all, {}, context).status()));
  context.set_scratch(&space);
  EXPECT_TRUE(absl::IsCancelled(Preprocessing::Fit(words, all, {}, context).status()));
}

TEST_F(ScratchTablesTest, ColumnsAreLimitedByMemoryThatEachOfThemTakes) {
  const FullSpace full(folder_, 0);
  RunContext context;
  context.set_scratch(&full);
  const absl::Status status =
      Preprocessing::Fit(WideSparse(1, (Index{1} << 25) + 1), {0}, {}, context).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_EQ(GetReason(status), "");
  EXPECT_NE(status.message().find("33554433 dense columns"), std::string::npos) << status;
}

TEST_F(ScratchTablesTest, CancelledRunEndsWhileItsTableIsWritten) {
  const Dataset dataset = MixedDataset(false);
  const absl::StatusOr<Preprocessing> fitted =
      Preprocessing::Fit(dataset, EveryThird(), {}, RunContext());
  ASSERT_TRUE(fitted.ok()) << fitted.status();
  const CancellationToken source;
  const CancellingSpace space(folder_, source);
  RunContext context(source, 1, nullptr);
  context.set_scratch(&space);
  EXPECT_TRUE(absl::IsCancelled(fitted->Apply(dataset, context).status()));

  const absl::StatusOr<PreparedData> prepared = fitted->Apply(dataset, RunContext());
  ASSERT_TRUE(prepared.ok()) << prepared.status();
  const CancellationToken other;
  const CancellingSpace of_selection(folder_, other);
  RunContext selecting(other, 1, nullptr);
  selecting.set_scratch(&of_selection);
  EXPECT_TRUE(absl::IsCancelled(SelectRows(*prepared, EveryThird(), selecting).status()));
}

}  // namespace
}  // namespace mercer

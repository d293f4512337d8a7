// Which models stay in memory, and what is left of those that went.
#include "server/prediction/model_cache.h"

#include <fstream>
#include <malloc.h>
#include <set>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "tests/support/peak_growth.h"
#include "tests/support/server/forwarding_blobs.h"

namespace mercer::server {
namespace {

// A model with a Gaussian kernel over `rows` basis rows of 20 columns.
std::string ModelFile(int64_t rows) {
  PreparedData inputs;
  inputs.rows = rows;
  RowMatrix values(rows, 20);
  RandomStream random(1, "model", static_cast<uint64_t>(rows));
  for (Index i = 0; i < values.size(); ++i) {
    values.data()[i] = random.Normal();
  }
  std::vector<std::string> sources(20, "x");
  inputs.blocks.push_back({"features", std::move(sources), SharedMatrix(std::move(values))});
  const std::vector<Index> all = IndexRange(0, rows);
  Model model;
  model.function = MakeKernelFunction(inputs, all, {KernelSpec()}, Vector::Ones(1),
                                      Vector::LinSpaced(rows, 1, 2), 0.5);
  return SaveModel(model);
}

class BytesInMemory final : public MappedFile {
 public:
  explicit BytesInMemory(std::string bytes) : bytes_(std::move(bytes)) {}
  std::string_view contents() const override { return bytes_; }

 private:
  const std::string bytes_;
};

// The version n of a model has the blob "n": a model with n basis rows.
class ModelsByNumber final : public ForwardingBlobStore {
 public:
  ModelsByNumber() : ForwardingBlobStore(nullptr) {}

  absl::StatusOr<std::unique_ptr<MappedFile>> Read(const std::string& digest,
                                                   const CancellationToken&) override {
    return std::make_unique<BytesInMemory>(ModelFile(std::stoi(digest)));
  }
};

// Knows every version of every model.
class EveryVersion final : public ModelStore {
 public:
  void DeleteModel(std::string, int64_t, absl::Time, OwnerCheck,
                   Done<DeletedVersions> done) override {
    done(absl::UnknownError(""));
  }
  absl::StatusOr<ModelRecord> GetModel(const std::string&) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) override {
    VersionRecord record;
    record.model = name;
    record.version = version;
    record.model_blob = std::to_string(version);
    return record;
  }
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest&, const ListQuery&) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string&, const PageRequest&,
                                                   const VersionFilter&) override {
    return absl::UnknownError("");
  }
  void UpdateModel(ModelUpdate, Done<ModelRecord> done) override { done(absl::UnknownError("")); }
  void UpdateVersion(VersionUpdate, Done<VersionRecord> done) override {
    done(absl::UnknownError(""));
  }
  void SetRetention(RetentionChange, Done<DeletedVersions> done) override {
    done(absl::UnknownError(""));
  }
  void MoveAlias(AliasMove, Done<AliasRecord> done) override { done(absl::UnknownError("")); }
  absl::StatusOr<std::optional<AliasRecord>> FindMove(const std::string&, const std::string&,
                                                      const std::string&) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<AliasRecord> GetAlias(const std::string&, const std::string&) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<AliasRecord> GetAliasAt(const std::string&, const std::string&,
                                         absl::Time) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<Page<AliasRecord>> ListAliases(const std::string&, const PageRequest&) override {
    return absl::UnknownError("");
  }
  absl::StatusOr<Page<AliasChange>> ListAliasChanges(const std::string&, const std::string&,
                                                     const PageRequest&) override {
    return absl::UnknownError("");
  }
};

class ModelCacheBudgetTest : public testing::Test {
 protected:
  std::set<int64_t> Resident(ModelCache& cache) {
    std::set<int64_t> resident;
    for (int64_t version = 100; version < 120; ++version) {
      if (cache.Find("m", version) != nullptr) {
        resident.insert(version);
      }
    }
    return resident;
  }

  EveryVersion versions_;
  ModelsByNumber blobs_;
};

TEST_F(ModelCacheBudgetTest, ModelsThatWereNotUsedLatelyLeave) {
  ModelCache one(versions_, blobs_, int64_t{1} << 30, 2);
  ASSERT_TRUE(one.Load("m", 110).ok());
  ModelCache cache(versions_, blobs_, 4 * one.use().bytes, 2);
  for (const int64_t version : {100, 101, 102, 103}) {
    ASSERT_TRUE(cache.Load("m", version).ok());
  }
  ASSERT_NE(cache.Find("m", 100), nullptr);
  ASSERT_NE(cache.Find("m", 102), nullptr);
  ASSERT_TRUE(cache.Load("m", 104).ok());
  ASSERT_TRUE(cache.Load("m", 105).ok());
  EXPECT_EQ(Resident(cache), (std::set<int64_t>{100, 102, 104, 105}));
  EXPECT_LE(cache.use().bytes, 4 * one.use().bytes);
}

TEST_F(ModelCacheBudgetTest, ModelLargerThanTheBudgetPredictsWithoutStaying) {
  ModelCache cache(versions_, blobs_, 1000, 2);
  const auto loaded = cache.Load("m", 100);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ((*loaded)->predictor->model().function.bases.size(), 1u);
  EXPECT_EQ(cache.Find("m", 100), nullptr);
  EXPECT_EQ(cache.use().bytes, 0);
}

TEST_F(ModelCacheBudgetTest, CountsWhatWasThereAndWhatHadToBeRead) {
  ModelCache cache(versions_, blobs_, int64_t{1} << 30, 2);
  EXPECT_EQ(cache.Find("m", 100), nullptr);  // not needed yet: whoever needs it calls Load then
  ASSERT_TRUE(cache.Load("m", 100).ok());
  ASSERT_TRUE(cache.Load("m", 101).ok());
  ASSERT_TRUE(cache.Load("m", 100).ok());
  ASSERT_NE(cache.Find("m", 101), nullptr);
  cache.Remove("m", 101);
  const ModelCacheUse use = cache.use();
  EXPECT_EQ(use.models, 1);
  EXPECT_EQ(use.bytes, cache.use().bytes);
  EXPECT_EQ(use.hits, 2);
  EXPECT_EQ(use.misses, 2);
}

int64_t ResidentBytes() {
  int64_t pages = 0;
  int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A thousand models of 8 kB to 1.5 MB, 64 MiB of them at a time, come and go.
TEST_F(ModelCacheBudgetTest, MemoryIsGivenBack) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "a sanitizer keeps freed memory";
  }
  const auto load_all = [this](int64_t count) {
    ModelCache cache(versions_, blobs_, int64_t{64} << 20, 2);
    for (int64_t i = 0; i < count; ++i) {
      const int64_t rows = 50 + i * 7919 % 5000;
      if (!cache.Load("m" + std::to_string(i), rows).ok()) {
        return false;
      }
    }
    for (int64_t i = 0; i < count; ++i) {
      cache.Remove("m" + std::to_string(i), 0);
    }
    return cache.use().bytes == 0;
  };
  ASSERT_TRUE(load_all(50));
  const int64_t before = ResidentBytes();
  ASSERT_TRUE(load_all(1000));
  EXPECT_LE(static_cast<double>(ResidentBytes()), 1.05 * static_cast<double>(before));
}

}  // namespace
}  // namespace mercer::server

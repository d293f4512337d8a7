#include "server/jobs/data/job_scratch.h"

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/support/server/real_file_system.h"
#include "tests/support/toy_data.h"

namespace mercer::server {
namespace {

constexpr int64_t kLearnerBytes = 1000;
constexpr Index kRows = 20'000;
constexpr Index kColumns = 100;
constexpr int64_t kTable = kRows * kColumns * 8;

// So many bytes are free.
class SmallDisk final : public RealFileSystem {
 public:
  explicit SmallDisk(int64_t free_bytes) : free_bytes_(free_bytes) {}
  absl::StatusOr<DiskSpace> Space(const std::string&) override {
    return DiskSpace{free_bytes_, int64_t{1} << 40};
  }

 private:
  const int64_t free_bytes_;
};

class JobScratchTest : public testing::Test {
 protected:
  JobScratchTest() : data_(ClassificationData(kRows, kColumns, 2, 1)) {
    entry_.name = "small";
    entry_.uses_kernels = false;
    entry_.estimate_memory = [](const OptionValues&, const ProblemShape&) {
      return absl::StatusOr<size_t>(kLearnerBytes);
    };
    entry_.basis_rows = [](const OptionValues&, const ProblemShape&) {
      return std::optional<Index>(1);
    };
  }
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "mercer-scratch-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_));
    std::filesystem::remove_all(folder_);
  }

  ScratchChoice Choose(const JobScratch& scratch, int64_t limit) const {
    const absl::StatusOr<ScratchChoice> choice =
        scratch.Choose(entry_, {}, data_, limit, RunContext());
    EXPECT_TRUE(choice.ok()) << choice.status();
    return choice.value_or(ScratchChoice());
  }
  static bool TakesTable(const ScratchChoice& choice) {
    return choice.space != nullptr && choice.space->Takes(kTable);
  }

  const Dataset data_;
  LearnerEntry entry_;
  std::string folder_;
};

TEST_F(JobScratchTest, TablesLeaveMemoryWhenTheJobDoesNotFitWithThem) {
  const JobScratch scratch(folder_, 1000, 4 * kTable, nullptr);
  const ScratchChoice fits = Choose(scratch, 4 * kTable);
  EXPECT_FALSE(TakesTable(fits));
  const ScratchChoice spilled = Choose(scratch, fits.memory_bytes - 1);
  EXPECT_TRUE(TakesTable(spilled));
  EXPECT_LT(spilled.memory_bytes, fits.memory_bytes - kTable / 3);
  // A limit that is too low for either.
  EXPECT_TRUE(TakesTable(Choose(scratch, 1)));
}

// The attempt at a job chooses as its admission did, from what that wrote down.
TEST_F(JobScratchTest, ChoiceIsTheSameForTheBytesThatItHasComeTo) {
  const JobScratch scratch(folder_, 1000, 4 * kTable, nullptr);
  for (const int64_t limit : {int64_t{1}, 2 * kTable, 4 * kTable}) {
    const ScratchChoice first = Choose(scratch, limit);
    const ScratchChoice second = Choose(scratch, first.memory_bytes);
    EXPECT_EQ(second.memory_bytes, first.memory_bytes);
    EXPECT_EQ(TakesTable(second), TakesTable(first));
  }
  // After a restart with four times the memory tables of this size stay there; this job was not counted with it.
  const JobScratch before(folder_, 1000, kTable, nullptr);
  const JobScratch after(folder_, 1000, 4 * kTable, nullptr);
  const ScratchChoice admitted = Choose(before, 4 * kTable);
  EXPECT_TRUE(TakesTable(admitted));
  const ScratchChoice attempted = Choose(after, admitted.memory_bytes);
  EXPECT_TRUE(TakesTable(attempted));
  EXPECT_LE(attempted.memory_bytes, admitted.memory_bytes);
}

TEST_F(JobScratchTest, TablesOfMoreThanAQuarterOfTheBudgetLeaveMemory) {
  EXPECT_TRUE(TakesTable(Choose(JobScratch(folder_, 1000, 4 * kTable - 4, nullptr), 4 * kTable)));
  EXPECT_FALSE(TakesTable(Choose(JobScratch(folder_, kTable, kTable, nullptr), kTable)));
}

TEST_F(JobScratchTest, WithoutAFolderEverythingIsInMemory) {
  const ScratchChoice choice = Choose(JobScratch("", 1000, kTable, nullptr), 1);
  EXPECT_EQ(choice.space, nullptr);
  EXPECT_GT(choice.memory_bytes, 2 * kTable);
}

TEST_F(JobScratchTest, WhatIsKeptFreeOnTheDiskIsNotWritten) {
  SmallDisk disk(1000 + kTable);
  for (const int64_t kept : {1000, 1001}) {
    const DiskGuard guard(folder_, kept, disk);
    const JobScratch scratch(folder_, 1000, kTable, &guard);
    const absl::Status status = Choose(scratch, kTable).space->Create(kTable).status();
    EXPECT_EQ(GetReason(status), kept == 1000 ? "" : "DISK_FULL") << status;
  }
}

}  // namespace
}  // namespace mercer::server

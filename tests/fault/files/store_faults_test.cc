// The stores over files that fail: at every single call that changes a file, for a moment or for long, and with the power
// or the process going away before it.
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/fault/files/file_faults.h"
#include "tests/fault/files/store_script.h"
#include "tests/support/fast_folder.h"
#include "tests/support/thorough.h"

namespace mercer::server {
namespace {

class StoreFaultsTest : public testing::Test {
 protected:
  StoreFaultsTest() : folder_(FastFolder() / absl::StrCat("mercer-store-faults-", getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~StoreFaultsTest() override { std::filesystem::remove_all(folder_); }

  // An empty folder of that name.
  std::string MakeFolder(const std::string& name) const {
    std::filesystem::remove_all(folder_ / name);
    std::filesystem::create_directories(folder_ / name);
    return folder_ / name;
  }
  // The number of calls that change files when the whole script runs, opening and closing included.
  int64_t CountCalls() const {
    const std::string folder = MakeFolder("counted");
    FileFaults faults(folder);
    RunAll(folder);
    return faults.calls();
  }
  static void RunAll(const std::string& folder) {
    absl::StatusOr<Stores> stores = OpenStores(folder);
    ASSERT_TRUE(stores.ok()) << stores.status();
    for (int step = 1; step <= kStoreSteps; ++step) {
      const absl::Status status = RunStoreStep(step, *stores);
      ASSERT_TRUE(status.ok()) << "step " << step << ": " << status;
      ASSERT_EQ(ReadProgress(*stores), step);
    }
    ExpectNoLeftovers(*stores);
  }
  // Goes on from wherever the folder is.
  static void FinishAll(const std::string& folder, int least, int most) {
    absl::StatusOr<Stores> stores = OpenStores(folder);
    ASSERT_TRUE(stores.ok()) << stores.status();
    const int done = ReadProgress(*stores);
    EXPECT_GE(done, least) << "something acknowledged is lost";
    EXPECT_LE(done, most) << "something is there that nobody asked for";
    ExpectNoLeftovers(*stores);
    for (int step = done + 1; step <= kStoreSteps; ++step) {
      const absl::Status status = RunStoreStep(step, *stores);
      ASSERT_TRUE(status.ok()) << "step " << step << ": " << status;
    }
    EXPECT_EQ(ReadProgress(*stores), kStoreSteps);
    ExpectNoLeftovers(*stores);
  }

  void FailEach(int64_t count, int error);

  const std::filesystem::path folder_;
};

// `failed` is the first call that has failed. SQLite keeps the reason of a failed write only.
void ExpectHonest(const absl::Status& status, int error, const std::string& failed) {
  const bool is_known =
      failed.rfind("pwrite", 0) == 0 || failed.find("/blobs") != std::string::npos;
  if (error == ENOSPC && is_known) {
    EXPECT_EQ(GetReason(status), "DISK_FULL") << status;
  }
  EXPECT_TRUE(absl::IsInternal(status) || (error == ENOSPC && absl::IsResourceExhausted(status)))
      << status;
}

// Runs the script with calls that fail from number `first` on, until they have failed once; then the files work again, and
// the rest must go on without opening the stores anew.
void StoreFaultsTest::FailEach(int64_t count, int error) {
  const int64_t calls = CountCalls();
  ASSERT_GT(calls, 50);
  for (int64_t first = 1; first <= calls && !HasFailure(); ++first) {
    if (!SweepStopsAt(first, kSweepStride)) {
      continue;
    }
    SCOPED_TRACE(absl::StrCat("call ", first, " of ", calls, ", error ", error));
    const std::string folder = MakeFolder("data");
    FileFaults faults(folder);
    std::string failed = "none";
    faults.set_before_call(
        [&](int64_t number, const std::string& what) { failed = number == first ? what : failed; });
    faults.Fail({first, count, error});
    absl::StatusOr<Stores> stores = OpenStores(folder);
    if (!stores.ok()) {
      ExpectHonest(stores.status(), error, failed);
      faults.Heal();
      stores = OpenStores(folder);
      ASSERT_TRUE(stores.ok()) << failed << ": " << stores.status();
    }
    for (int step = 1; step <= kStoreSteps; ++step) {
      SCOPED_TRACE(absl::StrCat("step ", step, ", failed: ", failed));
      const absl::Status status = RunStoreStep(step, *stores);
      if (!status.ok()) {
        ExpectHonest(status, error, failed);
        faults.Heal();
        const int done = ReadProgress(*stores);
        ASSERT_TRUE(done == step || done == step - 1) << done;
        step = done;
      }
    }
    faults.Heal();
    EXPECT_EQ(ReadProgress(*stores), kStoreSteps) << failed;
    ExpectNoLeftovers(*stores);
    stores = Stores();
    SCOPED_TRACE("failed: " + failed);
    FinishAll(folder, kStoreSteps, kStoreSteps);
  }
}

TEST_F(StoreFaultsTest, FailureOfAnyCallIsToldAndHarmless) { FailEach(1, EIO); }

TEST_F(StoreFaultsTest, FullDiskAtAnyCallIsToldAndHarmless) {
  FailEach(FileFaults::kForEver, ENOSPC);
}

TEST_F(StoreFaultsTest, ShortWritesAndSlowReadsChangeNothing) {
  const std::string folder = MakeFolder("data");
  FileFaults faults(folder);
  faults.set_short_writes(true);
  faults.set_slow_reads(absl::Milliseconds(1));
  RunAll(folder);
  FinishAll(folder, kStoreSteps, kStoreSteps);
}

// What the process leaves when it is killed before a call, and what the disk holds when the power goes.
TEST_F(StoreFaultsTest, EndBeforeAnyCallLosesNothingAcknowledged) {
  struct Snapshot {
    std::string what;
    std::filesystem::path folder;
    int acknowledged;
    int begun;
  };
  const std::string folder = MakeFolder("data");
  const char kStores[] = "/stores";  // made by the stores
  const std::filesystem::path copies = MakeFolder("copies");
  std::vector<Snapshot> snapshots;
  std::mt19937_64 random(1);
  std::atomic<int> acknowledged = 0;
  std::atomic<int> begun = 0;
  {
    FileFaults faults(folder);
    faults.set_before_call([&](int64_t number, const std::string& what) {
      if (!SweepStopsAt(number, kSweepStride)) {
        return;
      }
      const auto add = [&](const std::string& end) {
        snapshots.push_back({absl::StrCat(end, " before call ", number, ": ", what),
                             copies / absl::StrCat(snapshots.size()), acknowledged, begun});
        return snapshots.back().folder;
      };
      std::filesystem::copy(folder, add("killed"), std::filesystem::copy_options::recursive);
      faults.WriteAfterPowerLoss(add("power lost"), nullptr);
      faults.WriteAfterPowerLoss(add("power lost, some of the rest written"), &random);
    });
    absl::StatusOr<Stores> stores = OpenStores(folder + kStores);
    ASSERT_TRUE(stores.ok()) << stores.status();
    for (int step = 1; step <= kStoreSteps; ++step) {
      begun = step;
      const absl::Status status = RunStoreStep(step, *stores);
      ASSERT_TRUE(status.ok()) << "step " << step << ": " << status;
      acknowledged = step;
    }
  }
  EXPECT_GT(snapshots.size(), 3 * 50U / (IsThorough() ? 1 : kSweepStride));
  for (const Snapshot& snapshot : snapshots) {
    SCOPED_TRACE(snapshot.what);
    FinishAll(snapshot.folder.string() + kStores, snapshot.acknowledged, snapshot.begun);
    std::filesystem::remove_all(snapshot.folder);
    ASSERT_FALSE(HasFailure());
  }
}

}  // namespace
}  // namespace mercer::server

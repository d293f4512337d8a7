// Tables that do not stay in memory while they are stored.
#include <filesystem>
#include <fstream>
#include <memory>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "core/io/store/dataset_file.h"
#include "server/uploads/dataset_upload.h"
#include "tests/server/uploads/upload_fixture.h"
#include "tests/support/peak_growth.h"

namespace mercer::server {
namespace {

using LargeTableTest = UploadFolderTest;

// 8 columns in the order of the file, the rest in a block before them, and a target in the middle.
constexpr int kWideColumns = 64;

v1::UploadDatasetRequest WideHeader() {
  v1::UploadDatasetRequest message;
  v1::DenseFormat& dense = *message.mutable_header()->add_parts()->mutable_dense();
  for (int c = 0; c < kWideColumns; ++c) {
    dense.add_columns()->set_name("x" + std::to_string(c));
  }
  dense.mutable_columns(20)->set_role(v1::COLUMN_ROLE_TARGET);
  v1::BlockColumns& block = *dense.add_blocks();
  block.set_name("first");
  block.add_columns("x0..x7");
  return message;
}

// Sends a table of so many bytes with numbers of few values.
absl::StatusOr<v1::Dataset> UploadWide(const DatasetContext& context, int64_t bytes) {
  std::vector<double> numbers(size_t{1} << 17);
  DatasetUpload upload(context);
  MERCER_RETURN_IF_ERROR(upload.Add(WideHeader()));
  for (int64_t sent = 0; sent < bytes; sent += int64_t{1} << 20) {
    for (size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<double>((static_cast<size_t>(sent) + i * i) % 1009);
    }
    v1::UploadDatasetRequest chunk;
    chunk.mutable_chunk()->set_data(numbers.data(), numbers.size() * sizeof(double));
    MERCER_RETURN_IF_ERROR(upload.Add(chunk));
  }
  return upload.Finish([] { return false; });
}

// Above the size up to which tables stay in memory, their numbers are those that came all the same.
TEST_F(LargeTableTest, LargeTableIsSplitAsASmallOne) {
  const auto uploaded = UploadWide(context_, int64_t{40} << 20);
  ASSERT_TRUE(uploaded.ok()) << uploaded.status();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "uploads"));
  const auto path = blobs_->VerifiedPath(uploaded->digest());
  ASSERT_TRUE(path.ok()) << path.status();
  const auto dataset = mercer::OpenDataset(*path);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto first = dataset->FindBlock("first")->values.view();
  const auto rest = dataset->FindBlock("features")->values.view();
  const auto& target = dataset->FindColumn(ColumnRole::kTarget)->values;
  for (Index row = 0; row < dataset->rows; row += 777) {
    for (Index column = 0; column < kWideColumns; ++column) {
      const size_t cell = static_cast<size_t>(row * kWideColumns + column);
      const size_t piece = cell >> 17;
      const size_t place = cell & ((size_t{1} << 17) - 1);
      const double expected = static_cast<double>(((piece << 20) + place * place) % 1009);
      const double found = column < 8     ? first(row, column)
                           : column == 20 ? target(row)
                                          : rest(row, column - (column < 20 ? 8 : 9));
      ASSERT_EQ(found, expected) << row << " " << column;
    }
  }
}

// In a process of its own, which has to have a storage of its own: one writes in a thread.
bool UploadsWideWithin(DatasetContext context, rlim_t growth) {
  const std::unique_ptr<Storage> storage = MakeTestStorage();
  context.storage = storage.get();
  int64_t total = 0;
  int64_t resident = 0;
  int64_t shared = 0;
  int64_t code = 0;
  int64_t libraries = 0;
  int64_t data = 0;
  std::ifstream("/proc/self/statm") >> total >> resident >> shared >> code >> libraries >> data;
  const rlim_t now = static_cast<rlim_t>(data * sysconf(_SC_PAGESIZE));
  const rlimit limit = {now + growth, now + growth};
  return setrlimit(RLIMIT_DATA, &limit) == 0 && UploadWide(context, int64_t{160} << 20).ok();
}

// Mapped files are not counted: their pages are the system's to take back.
TEST_F(LargeTableTest, LargeTableTakesConstantMemory) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers map memory of their own";
  }
  constexpr rlim_t kGrowth = rlim_t{48} << 20;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    _exit(UploadsWideWithin(context_, kGrowth) ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "a table of 160 MiB needs more than 48 MiB";
}

}  // namespace
}  // namespace mercer::server

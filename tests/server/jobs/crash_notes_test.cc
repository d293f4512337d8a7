#include "server/jobs/upkeep/crash_notes.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class CrashNotesTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove(path_); }
  void TearDown() override { std::filesystem::remove(path_); }

  std::unique_ptr<CrashNotes> Open() {
    absl::StatusOr<std::unique_ptr<CrashNotes>> notes = CrashNotes::Open(path_);
    EXPECT_TRUE(notes.ok()) << notes.status();
    return *std::move(notes);
  }

  const std::string path_ =
      std::filesystem::temp_directory_path() / absl::StrCat("mercer-crashes-", getpid());
};

TEST_F(CrashNotesTest, NoteOfADeadProcessIsFoundByTheNext) {
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        const std::unique_ptr<CrashNotes> notes = Open();
        const CrashNote note = notes->NoteOf("0123456789abcdef", 3);
        const ScopedCrashNote scope(&note);
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
  const std::unique_ptr<CrashNotes> notes = Open();
  EXPECT_THAT(notes->found(), ElementsAre(CrashedAttempt{"0123456789abcdef", 3, SIGABRT}));
  EXPECT_TRUE(notes->Clear().ok());
  EXPECT_THAT(Open()->found(), IsEmpty());
}

TEST_F(CrashNotesTest, NotesAreAddedToThoseThatNobodyHasReadYet) {
  std::ofstream(path_) << "job-1 1 11\n";
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        const std::unique_ptr<CrashNotes> notes = Open();
        const CrashNote note = notes->NoteOf("job-2", 1);
        const ScopedCrashNote scope(&note);
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
  EXPECT_THAT(Open()->found(),
              ElementsAre(CrashedAttempt{"job-1", 1, 11}, CrashedAttempt{"job-2", 1, SIGABRT}));
}

TEST_F(CrashNotesTest, DamagedLinesArePassedOver) {
  std::ofstream(path_) << "job-1 1 11\n\n 1 11\njob-2 one 11\njob-3 1\njob-4 2 6 9\njob-5 2 6";
  EXPECT_THAT(Open()->found(),
              ElementsAre(CrashedAttempt{"job-1", 1, 11}, CrashedAttempt{"job-5", 2, 6}));
}

TEST_F(CrashNotesTest, FolderInPlaceOfTheFileIsAnError) {
  EXPECT_EQ(CrashNotes::Open(std::filesystem::temp_directory_path()).status().code(),
            absl::StatusCode::kInternal);
}

}  // namespace
}  // namespace mercer::server

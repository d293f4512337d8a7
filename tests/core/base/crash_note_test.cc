#include "core/base/process/crash_note.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/process/parallel.h"

namespace mercer {
namespace {

std::string TextOf(const CrashNote* note) {
  return note == nullptr ? "none" : std::string(note->text.data(), note->size);
}

// Needs 4 KiB of stack per level.
int Descend(int levels) {
  volatile char block[4096] = {};
  block[static_cast<size_t>(levels) % sizeof(block)] = 1;
  return levels == 0 ? 0 : Descend(levels - 1) + block[0];
}

class CrashNoteTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = std::filesystem::temp_directory_path() /
            absl::StrCat("mercer-crash-note-", getpid(), "-",
                         ::testing::UnitTest::GetInstance()->current_test_info()->name());
    descriptor_ = open(path_.c_str(), O_CREAT | O_TRUNC | O_APPEND | O_RDWR | O_CLOEXEC, 0600);
    ASSERT_GE(descriptor_, 0);
  }
  void TearDown() override {
    close(descriptor_);
    std::filesystem::remove(path_);
  }

  // The note that a process leaves which dies of `crash`.
  std::string NoteOf(const std::function<void()>& crash) {
    // Under a sanitizer, which has handlers of its own, it may exit instead.
    EXPECT_EXIT(
        crash(), [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }, "");
    std::ifstream file(path_);
    return std::string((std::istreambuf_iterator<char>(file)), {});
  }

  std::filesystem::path path_;
  int descriptor_ = -1;
};

TEST_F(CrashNoteTest, AbortOfAThreadIsNotedWithItsSignal) {
  EXPECT_EQ(NoteOf([this] {
              InstallCrashHandler();
              const CrashNote note = MakeCrashNote(descriptor_, "job 17");
              const ScopedCrashNote scope(&note);
              std::abort();
            }),
            "job 17 6\n");
}

TEST_F(CrashNoteTest, ProcessDiesOfTheSignalAllTheSame) {
  EXPECT_EXIT(
      {
        InstallCrashHandler();
        std::abort();
      },
      ::testing::KilledBySignal(SIGABRT), "");
}

TEST_F(CrashNoteTest, AccessToForeignMemoryIsNoted) {
  EXPECT_EQ(NoteOf([this] {
              InstallCrashHandler();
              const CrashNote note = MakeCrashNote(descriptor_, "job 17");
              // No null pointer: the undefined behaviour sanitizer ends the process before the signal.
              void* const page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              std::thread([&note, page] {
                const ScopedCrashNote scope(&note);
                *static_cast<volatile int*>(page) = 1;
              }).join();
            }),
            "job 17 11\n");
}

TEST_F(CrashNoteTest, OverflowOfTheStackIsNoted) {
  EXPECT_EQ(NoteOf([this] {
              InstallCrashHandler();
              const CrashNote note = MakeCrashNote(descriptor_, "deep job");
              std::thread([&note] {
                const CrashStack stack;
                const ScopedCrashNote scope(&note);
                std::_Exit(Descend(std::numeric_limits<int>::max()) & 0);
              }).join();
            }),
            "deep job 11\n");
}

TEST_F(CrashNoteTest, ThreadWithoutANoteLeavesNone) {
  EXPECT_EQ(NoteOf([this] {
              InstallCrashHandler();
              const CrashNote note = MakeCrashNote(descriptor_, "job 17");
              { const ScopedCrashNote scope(&note); }
              std::abort();
            }),
            "");
}

TEST_F(CrashNoteTest, SignalOfAnotherProcessIsNotBlamedOnTheThreadThatTakesIt) {
  EXPECT_EQ(NoteOf([this] {
              InstallCrashHandler();
              const CrashNote note = MakeCrashNote(descriptor_, "job 17");
              const ScopedCrashNote scope(&note);
              kill(getpid(), SIGABRT);
              pause();
            }),
            "");
}

TEST_F(CrashNoteTest, LongTextsAreCut) {
  const CrashNote note = MakeCrashNote(3, std::string(1000, 'x'));
  EXPECT_EQ(TextOf(&note), std::string(CrashNote::kMaxSize, 'x'));
}

TEST_F(CrashNoteTest, ScopesNestAndBelongToTheirThread) {
  const CrashNote outer = MakeCrashNote(-1, "outer");
  const CrashNote inner = MakeCrashNote(-1, "inner");
  EXPECT_EQ(CurrentCrashNote(), nullptr);
  const ScopedCrashNote outer_scope(&outer);
  {
    const ScopedCrashNote inner_scope(&inner);
    EXPECT_EQ(CurrentCrashNote(), &inner);
    std::thread([] { EXPECT_EQ(CurrentCrashNote(), nullptr); }).join();
  }
  EXPECT_EQ(CurrentCrashNote(), &outer);
}

TEST_F(CrashNoteTest, ThreadsThatHelpInALoopWorkUnderTheSameNote) {
  const CrashNote note = MakeCrashNote(-1, "job 17");
  const ParallelLoop loop(2);
  std::atomic<int> strange{0};
  {
    const ScopedCrashNote scope(&note);
    loop.ForBlocks(1000, 1, [&](Index, Index) { strange += CurrentCrashNote() == &note ? 0 : 1; });
  }
  EXPECT_EQ(strange, 0);
  loop.ForBlocks(1000, 1, [&](Index, Index) { strange += CurrentCrashNote() == nullptr ? 0 : 1; });
  EXPECT_EQ(strange, 0);
}

}  // namespace
}  // namespace mercer

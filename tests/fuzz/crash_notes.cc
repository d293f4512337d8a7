// The file in which a crash leaves its note: whatever a crash has written, the next server starts.
#include "server/jobs/upkeep/crash_notes.h"

#include <string>

#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/scratch_folder.h"

namespace mercer::fuzz {

void TestOneInput(std::string_view bytes) {
  static const ScratchFolder folder("crash_notes");
  const std::string path = folder.Write("crashes", bytes);
  std::string written;
  {
    const auto notes = server::CrashNotes::Open(path);
    Require(notes.ok(), "notes can be read, whatever they are");
    for (const server::CrashedAttempt& attempt : (*notes)->found()) {
      Require(!attempt.job_id.empty(), "an attempt is one of a job");
      written += attempt.job_id + " " + std::to_string(attempt.attempt) + " " +
                 std::to_string(attempt.signal) + "\n";
    }
    const CrashNote note = (*notes)->NoteOf(std::string(bytes), 1);
    Require(note.size <= CrashNote::kMaxSize, "a note keeps within its room");
  }
  const auto first = server::CrashNotes::Open(path);
  const auto again = server::CrashNotes::Open(folder.Write("written", written));
  Require(first.ok() && again.ok() && (*again)->found() == (*first)->found(),
          "notes that were written read back");
  Require((*first)->Clear().ok(), "notes can be cleared");
}

std::vector<std::string> Seeds() {
  return {"j-1 1 11\n", "j-1 1 11\nj-2 -3 6\n\nj 1", "a b c\nj-1 99999999999 6\n"};
}

}  // namespace mercer::fuzz

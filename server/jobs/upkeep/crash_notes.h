// The file in which an attempt that takes the server down leaves its name, for the server that starts next.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/process/crash_note.h"

namespace mercer::server {

struct CrashedAttempt {
  std::string job_id;
  int32_t attempt = 0;
  int signal = 0;

  friend bool operator==(const CrashedAttempt&, const CrashedAttempt&) = default;
};

// One line per attempt: "<job id> <attempt> <signal>". Lines that cannot be read are passed over: a crash may damage what
// it writes. Thread-safe once opened.
class CrashNotes {
 public:
  // Makes the file when it is missing. Errors: kInternal with the system's message.
  static absl::StatusOr<std::unique_ptr<CrashNotes>> Open(const std::string& path);
  ~CrashNotes();
  CrashNotes(const CrashNotes&) = delete;
  CrashNotes& operator=(const CrashNotes&) = delete;

  // What the file held when it was opened.
  const std::vector<CrashedAttempt>& found() const { return found_; }
  // Empties the file. Call it when what was found has had its consequences.
  absl::Status Clear();

  // For a thread that works on the attempt; valid as long as this object.
  CrashNote NoteOf(const std::string& job_id, int32_t attempt) const;

 private:
  CrashNotes(int descriptor, std::vector<CrashedAttempt> found)
      : descriptor_(descriptor), found_(std::move(found)) {}

  const int descriptor_;
  const std::vector<CrashedAttempt> found_;
};

}  // namespace mercer::server

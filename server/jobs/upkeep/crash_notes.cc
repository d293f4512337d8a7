#include "server/jobs/upkeep/crash_notes.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace mercer::server {
namespace {

// A server crashes a few times at most before its notes are read.
constexpr size_t kMaxBytes = size_t{1} << 20;

absl::Status SystemError(const std::string& what, const std::string& path) {
  return absl::InternalError(absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(errno)));
}

std::vector<CrashedAttempt> Parse(const std::string& text) {
  std::vector<CrashedAttempt> attempts;
  for (const std::string& line : std::vector<std::string>(absl::StrSplit(text, '\n'))) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    CrashedAttempt attempt;
    if (words.size() == 3 && !words[0].empty() && absl::SimpleAtoi(words[1], &attempt.attempt) &&
        absl::SimpleAtoi(words[2], &attempt.signal)) {
      attempt.job_id = words[0];
      attempts.push_back(std::move(attempt));
    }
  }
  return attempts;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CrashNotes>> CrashNotes::Open(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    return SystemError("open", path);
  }
  std::string text(kMaxBytes, '\0');
  const ssize_t size = pread(descriptor, text.data(), text.size(), 0);
  if (size < 0) {
    const absl::Status error = SystemError("read", path);
    close(descriptor);
    return error;
  }
  text.resize(static_cast<size_t>(size));
  return std::unique_ptr<CrashNotes>(new CrashNotes(descriptor, Parse(text)));
}

CrashNotes::~CrashNotes() { close(descriptor_); }

absl::Status CrashNotes::Clear() {
  return ftruncate(descriptor_, 0) == 0 ? absl::OkStatus()
                                        : SystemError("empty", "the file of crash notes");
}

CrashNote CrashNotes::NoteOf(const std::string& job_id, int32_t attempt) const {
  return MakeCrashNote(descriptor_, absl::StrCat(job_id, " ", attempt));
}

}  // namespace mercer::server

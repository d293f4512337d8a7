// What the program tells scripts when it ends.
#pragma once

#include "absl/status/status.h"

namespace mercer::client {

enum class ExitCode {
  kOk = 0,
  kFailed = 1,         // the job failed, or the server did
  kUsage = 2,          // the command line is wrong; nothing was sent
  kBadInput = 3,       // data or options were refused
  kNotFound = 4,       // no such data set, job, model, learner or file
  kConflict = 5,       // taken, or in a state that does not allow it
  kUnreachable = 6,    // no server answers, or not in time
  kJobCancelled = 7,   // the job that was watched was cancelled
  kTooLarge = 8,       // a limit of the server is exceeded
  kNotAllowed = 9,     // no token, or one that is not good for this
  kInterrupted = 130,  // Ctrl-C; a job that was watched goes on
};

ExitCode ExitCodeOf(const absl::Status& status);

// The list above, for help texts.
extern const char kExitCodeHelp[];

}  // namespace mercer::client

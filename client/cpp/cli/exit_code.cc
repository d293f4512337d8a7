#include "client/cpp/cli/exit_code.h"

namespace mercer::client {

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return ExitCode::kOk;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return ExitCode::kBadInput;
    case absl::StatusCode::kNotFound:
      return ExitCode::kNotFound;
    case absl::StatusCode::kAlreadyExists:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAborted:
      return ExitCode::kConflict;
    case absl::StatusCode::kUnavailable:
    case absl::StatusCode::kDeadlineExceeded:
      return ExitCode::kUnreachable;
    case absl::StatusCode::kCancelled:
      return ExitCode::kJobCancelled;
    case absl::StatusCode::kResourceExhausted:
      return ExitCode::kTooLarge;
    case absl::StatusCode::kUnauthenticated:
    case absl::StatusCode::kPermissionDenied:
      return ExitCode::kNotAllowed;
    default:
      return ExitCode::kFailed;
  }
}

const char kExitCodeHelp[] =
    R"(Exit codes:
  0 done    1 the job or the server failed   2 wrong command line      3 data or options refused
  4 no such data set, job, model or file     5 taken, or state does not allow it
  6 no server answers   7 the job was cancelled   8 a limit is exceeded
  9 no token, or not one for this    130 ended by Ctrl-C; a watched job goes on
)";

}  // namespace mercer::client

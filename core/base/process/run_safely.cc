#include "core/base/process/run_safely.h"

#include <exception>
#include <new>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {
namespace {

absl::Status Describe(absl::string_view what) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(what, ": out of memory")),
                      "OUT_OF_MEMORY");
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat(what, ": ", error.what()));
  } catch (...) {
    return absl::InternalError(absl::StrCat(what, ": an exception of unknown type"));
  }
}

}  // namespace

absl::Status StatusOfException(absl::string_view what) noexcept {
  try {
    return Describe(what);
  } catch (...) {
    // A status without message takes no memory.
    return absl::Status(absl::StatusCode::kResourceExhausted, absl::string_view());
  }
}

}  // namespace mercer

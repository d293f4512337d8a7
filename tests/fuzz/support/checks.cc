#include "tests/fuzz/support/checks.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "core/base/status/errors.h"

namespace mercer::fuzz {

void Require(bool holds, std::string_view property) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", std::string(property).c_str());
    std::abort();
  }
}

void RequireRefusal(const absl::Status& status, std::initializer_list<absl::StatusCode> codes,
                    bool needs_reason) {
  const bool known = std::find(codes.begin(), codes.end(), status.code()) != codes.end();
  if (!known) {
    std::fprintf(stderr, "refused with %s\n", status.ToString().c_str());
  }
  Require(known, "a refusal has one of the codes of its kind");
  Require(!status.message().empty(), "a refusal says why");
  Require(status.message().size() <= kMaxMessageBytes, "a refusal quotes a piece of the input");
  if (needs_reason && GetReason(status).empty()) {
    std::fprintf(stderr, "refused with %s\n", status.ToString().c_str());
    Require(false, "a refusal has a reason");
  }
}

}  // namespace mercer::fuzz

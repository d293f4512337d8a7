// What targets assert besides that nothing crashes.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"

namespace mercer::fuzz {

// Ends the process with `property` when it does not hold.
void Require(bool holds, std::string_view property);

// `status` is a refusal that a client or an operator can act on: one of `codes`, with a message, which quotes only a
// bounded piece of the input. With `needs_reason` also with a reason of the catalogue.
void RequireRefusal(const absl::Status& status, std::initializer_list<absl::StatusCode> codes,
                    bool needs_reason = true);

// The longest message of a refusal. Errors name at most FieldViolations::kMaxReported fields.
inline constexpr size_t kMaxMessageBytes = size_t{256} << 10;

}  // namespace mercer::fuzz

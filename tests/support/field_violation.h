// What an error says of one field.
#pragma once

#include <string>

#include "absl/status/status.h"

#include "core/base/status/errors.h"

namespace mercer {

// The violation of `field`; empty when there is none.
inline std::string Violation(const absl::Status& status, const std::string& field) {
  for (const FieldViolation& violation : GetFieldViolations(status)) {
    if (violation.field == field) {
      return violation.description;
    }
  }
  return "";
}

}  // namespace mercer

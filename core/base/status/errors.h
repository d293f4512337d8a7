// What an error says beyond its code and message: a reason from one catalogue, the fields that are
// wrong, and named values.
//
// The core reports bad input as absl::Status with code kInvalidArgument. The details travel in
// status payloads, so that a service can turn them into its own structured errors without parsing
// messages:
//
//   FieldViolations violations;
//   violations.Check(options.cost > 0, "cost", absl::StrCat("must be > 0, is ", options.cost));
//   MERCER_RETURN_IF_ERROR(violations.ToStatus());              // names every bad field at once
//
//   return WithReason(
//       absl::InvalidArgumentError("row 17, column 'age': not a number: 'x'"), "BAD_CELL",
//       {{"row", "17"}, {"column", "age"}});
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace mercer {

// One wrong field of a request: its path (`kernels[3].bandwidth`) and what is wrong and allowed
// ("must be > 0, is -1").
struct FieldViolation {
  std::string field;
  std::string description;

  friend bool operator==(const FieldViolation&, const FieldViolation&) = default;
};

using ErrorMetadata = std::vector<std::pair<std::string, std::string>>;

// Collects violations. At most kMaxReported are kept, the rest are counted.
class FieldViolations {
 public:
  static constexpr size_t kMaxReported = 100;

  void Add(std::string field, std::string description);
  // Adds a violation unless `condition` holds; returns `condition`.
  bool Check(bool condition, std::string_view field, std::string_view description);
  // Adds the violations of `status` with `prefix` before each field; a status without violations
  // becomes one violation of the field `prefix` itself. OK adds nothing.
  void AddAll(std::string_view prefix, const absl::Status& status);

  bool empty() const { return violations_.empty(); }
  const std::vector<FieldViolation>& violations() const { return violations_; }

  // OK when nothing was added, else kInvalidArgument with reason BAD_FIELDS; the message lists the
  // violations.
  absl::Status ToStatus() const;

 private:
  std::vector<FieldViolation> violations_;
  size_t omitted_ = 0;
};

// Attaches the reason (UPPER_SNAKE_CASE, at most 63 characters) and named values to a status that
// is not OK.
absl::Status WithReason(absl::Status status, std::string_view reason,
                        const ErrorMetadata& metadata = {});

// The details of a status; empty when it carries none.
std::string GetReason(const absl::Status& status);
ErrorMetadata GetErrorMetadata(const absl::Status& status);
std::vector<FieldViolation> GetFieldViolations(const absl::Status& status);

}  // namespace mercer

#include "core/base/status/errors.h"

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"

#include "core/base/encoding/saved_fields.h"

namespace mercer {
namespace {

constexpr std::string_view kReasonUrl = "mercer/reason";
constexpr std::string_view kViolationsUrl = "mercer/field_violations";

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs DecodePairs(const absl::Status& status, std::string_view url) {
  const auto payload = status.GetPayload(absl::string_view(url.data(), url.size()));
  if (!payload.has_value()) {
    return {};
  }
  const std::string bytes(*payload);
  ByteReader reader(bytes);
  Pairs pairs;
  ReadFields(reader, pairs);
  return pairs;
}

void SetPairs(absl::Status& status, std::string_view url, const Pairs& pairs) {
  status.SetPayload(absl::string_view(url.data(), url.size()), absl::Cord(SaveFields(pairs)));
}

}  // namespace

void FieldViolations::Add(std::string field, std::string description) {
  if (violations_.size() >= kMaxReported) {
    ++omitted_;
    return;
  }
  violations_.push_back({std::move(field), std::move(description)});
}

bool FieldViolations::Check(bool condition, std::string_view field, std::string_view description) {
  if (!condition) {
    Add(std::string(field), std::string(description));
  }
  return condition;
}

void FieldViolations::AddAll(std::string_view prefix, const absl::Status& status) {
  if (status.ok()) {
    return;
  }
  const std::vector<FieldViolation> inner = GetFieldViolations(status);
  if (inner.empty()) {
    Add(std::string(prefix), std::string(status.message()));
    return;
  }
  for (const FieldViolation& violation : inner) {
    const bool joined_by_dot =
        !prefix.empty() && !violation.field.empty() && violation.field[0] != '[';
    Add(absl::StrCat(std::string(prefix), joined_by_dot ? "." : "", violation.field),
        violation.description);
  }
}

absl::Status FieldViolations::ToStatus() const {
  if (violations_.empty()) {
    return absl::OkStatus();
  }
  std::string message;
  Pairs pairs;
  for (const FieldViolation& violation : violations_) {
    absl::StrAppend(&message, message.empty() ? "" : "; ", violation.field,
                    violation.field.empty() ? "" : ": ", violation.description);
    pairs.emplace_back(violation.field, violation.description);
  }
  if (omitted_ > 0) {
    absl::StrAppend(&message, "; and ", omitted_, " more");
  }
  absl::Status status = WithReason(absl::InvalidArgumentError(message), "BAD_FIELDS");
  SetPairs(status, kViolationsUrl, pairs);
  return status;
}

absl::Status WithReason(absl::Status status, std::string_view reason,
                        const ErrorMetadata& metadata) {
  if (status.ok()) {
    return status;
  }
  Pairs pairs = {{std::string(reason), ""}};
  pairs.insert(pairs.end(), metadata.begin(), metadata.end());
  SetPairs(status, kReasonUrl, pairs);
  return status;
}

std::string GetReason(const absl::Status& status) {
  const Pairs pairs = DecodePairs(status, kReasonUrl);
  return pairs.empty() ? "" : pairs[0].first;
}

ErrorMetadata GetErrorMetadata(const absl::Status& status) {
  Pairs pairs = DecodePairs(status, kReasonUrl);
  if (!pairs.empty()) {
    pairs.erase(pairs.begin());
  }
  return pairs;
}

std::vector<FieldViolation> GetFieldViolations(const absl::Status& status) {
  std::vector<FieldViolation> violations;
  for (auto& [field, description] : DecodePairs(status, kViolationsUrl)) {
    violations.push_back({std::move(field), std::move(description)});
  }
  return violations;
}

}  // namespace mercer

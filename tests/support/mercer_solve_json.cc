#include "tests/support/mercer_solve_json.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::solve {
namespace {

std::string Meaning(const absl::Status& status) {
  if (GetReason(status) == "ONE_CLASS") {
    return "one_class";
  }
  if (GetReason(status) == "BAD_LABEL") {
    return "bad_labels";
  }
  for (const FieldViolation& violation : GetFieldViolations(status)) {
    if (violation.field == "p" || violation.field == "C") {
      return absl::StrCat("bad_", violation.field);
    }
  }
  return "bad_input";
}

}  // namespace

double ToNumber(const nlohmann::json& value) {
  if (value.is_string() && value == "inf") {
    return kInfinity;
  }
  if (value.is_string() && value == "-inf") {
    return -kInfinity;
  }
  return value.get<double>();
}

Vector ToVector(const nlohmann::json& values) {
  Vector vector(static_cast<Index>(values.size()));
  for (Index i = 0; i < vector.size(); ++i) {
    vector(i) = ToNumber(values.at(static_cast<size_t>(i)));
  }
  return vector;
}

Matrix ToMatrix(const nlohmann::json& rows) {
  const auto columns = static_cast<Index>(rows.at(0).size());
  Matrix matrix(static_cast<Index>(rows.size()), columns);
  for (Index i = 0; i < matrix.rows(); ++i) {
    for (Index j = 0; j < columns; ++j) {
      matrix(i, j) = ToNumber(rows.at(static_cast<size_t>(i)).at(static_cast<size_t>(j)));
    }
  }
  return matrix;
}

nlohmann::json FromNumber(double value) {
  if (std::isinf(value)) {
    return value > 0 ? "inf" : "-inf";
  }
  return value;
}

nlohmann::json FromVector(const Vector& values) {
  nlohmann::json list = nlohmann::json::array();
  for (const double value : values) {
    list.push_back(FromNumber(value));
  }
  return list;
}

nlohmann::json FromMatrix(const Matrix& matrix) {
  nlohmann::json rows = nlohmann::json::array();
  for (Index i = 0; i < matrix.rows(); ++i) {
    rows.push_back(FromVector(matrix.row(i).transpose()));
  }
  return rows;
}

nlohmann::json FromInterval(const BiasInterval& interval, bool negated) {
  return negated ? nlohmann::json{FromNumber(-interval.high), FromNumber(-interval.low)}
                 : nlohmann::json{FromNumber(interval.low), FromNumber(interval.high)};
}

std::string ErrorText(const absl::Status& status) {
  return absl::StrCat(Meaning(status), ": ", std::string(status.message()));
}

}  // namespace mercer::solve

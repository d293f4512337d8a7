// Numbers between fixture files and the core. Infinite numbers are the strings "inf" and "-inf".
// Reading a value of another shape throws nlohmann::json::exception, which mercer-solve's main
// turns into an answer.
#pragma once

#include <string>

#include "absl/status/status.h"
#include <nlohmann/json.hpp>

#include "core/base/numeric/types.h"
#include "core/objectives/loss.h"

namespace mercer::solve {

double ToNumber(const nlohmann::json& value);
Vector ToVector(const nlohmann::json& values);
Matrix ToMatrix(const nlohmann::json& rows);

nlohmann::json FromNumber(double value);
nlohmann::json FromVector(const Vector& values);
nlohmann::json FromMatrix(const Matrix& matrix);
// [low, high] of f + b, or of f - b when `negated`.
nlohmann::json FromInterval(const BiasInterval& interval, bool negated);

// The refusal in the fixtures' words: "one_class: ...", "bad_p: ...", "bad_C: ...", "bad_labels:
// ...", else "bad_input: ...".
std::string ErrorText(const absl::Status& status);

}  // namespace mercer::solve

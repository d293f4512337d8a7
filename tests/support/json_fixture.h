// Fixtures: JSON files below tests/fixtures, their vectors and matrices.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/numeric/types.h"
#include "tests/support/source_folder.h"

namespace mercer {

inline nlohmann::json ReadFixtureFile(const std::string& name) {
  std::ifstream file(SourceFolder() / "tests/fixtures" / name);
  EXPECT_TRUE(file.good()) << name;
  return nlohmann::json::parse(file);
}

inline Vector JsonVector(const nlohmann::json& values) {
  const auto numbers = values.get<std::vector<double>>();
  return Eigen::Map<const Vector>(numbers.data(), static_cast<Index>(numbers.size()));
}

inline Matrix JsonMatrix(const nlohmann::json& rows) {
  Matrix matrix(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
  for (Index i = 0; i < matrix.rows(); ++i) {
    matrix.row(i) = JsonVector(rows[static_cast<size_t>(i)]).transpose();
  }
  return matrix;
}

}  // namespace mercer

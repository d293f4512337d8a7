// Tables of files that the benchmarks of the core learn from.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include <zlib.h>

#include "core/base/numeric/random.h"
#include "core/base/numeric/types.h"

namespace mercer {

struct BenchTable {
  RowMatrix features;  // each column of mean 0 and deviation 1, or 0
  Vector labels;
};

// The numbers of a CSV file, gzipped or not, line by line without the header; none when it cannot
// be read.
inline std::vector<std::vector<double>> ReadNumbers(const std::string& path) {
  std::vector<std::vector<double>> rows;
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return rows;
  }
  std::vector<char> line(1 << 20);  // names of thousands of columns
  gzgets(file, line.data(), static_cast<int>(line.size()));
  while (gzgets(file, line.data(), static_cast<int>(line.size())) != nullptr) {
    std::vector<double> row;
    for (const absl::string_view cell : absl::StrSplit(line.data(), ',')) {
      double number = 0;
      if (absl::SimpleAtod(cell, &number)) {
        row.push_back(number);
      }
    }
    rows.push_back(std::move(row));
  }
  gzclose(file);
  return rows;
}

// At most so many rows of a file whose last column is the label, in random order; no rows when it
// cannot be read.
inline BenchTable ReadBenchTable(const std::string& path, Index most) {
  std::vector<std::vector<double>> rows = ReadNumbers(path);
  BenchTable table;
  if (rows.empty()) {
    return table;
  }
  RandomStream(1, "bench-table").Shuffle(rows);
  const Index count = std::min(static_cast<Index>(rows.size()), most);
  const auto columns = static_cast<Index>(rows[0].size()) - 1;
  table.features.resize(count, columns);
  table.labels.resize(count);
  for (Index i = 0; i < count; ++i) {
    const std::vector<double>& row = rows[static_cast<size_t>(i)];
    table.features.row(i) = Eigen::Map<const Eigen::RowVectorXd>(row.data(), columns);
    table.labels(i) = row.back();
  }
  for (Index j = 0; j < columns; ++j) {
    const double mean = table.features.col(j).mean();
    const double size = std::sqrt((table.features.col(j).array() - mean).square().mean());
    table.features.col(j) = (table.features.col(j).array() - mean) / std::max(size, 1e-300);
  }
  return table;
}

}  // namespace mercer

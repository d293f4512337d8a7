// Where the columns of a CSV file go: their role, and for features their block and position in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "core/io/text/readers.h"

namespace mercer {

enum class CsvType : uint8_t { kUndecided = 0, kNumeric = 1, kCategorical = 2 };

struct CsvColumn {
  std::string name;
  ColumnRole role = ColumnRole::kFeature;
  CsvType type = CsvType::kUndecided;
  bool type_stated = false;  // by the options or by the role, not by the cells
  size_t block = 0;          // features: index into CsvLayout::blocks
  Index position = 0;        // features: column of the block
};

struct CsvBlock {
  std::string name;
  Index width = 0;
};

struct CsvLayout {
  std::vector<CsvColumn> columns;  // in file order
  std::vector<CsvBlock> blocks;    // none is empty
};

// Column names from the first record: its cells, or c1, c2, ... without a header. Errors:
// BAD_HEADER (binary data, empty or duplicate names, too many columns).
absl::StatusOr<std::vector<std::string>> ReadCsvNames(std::string_view first_record,
                                                      const CsvOptions& options);

// Errors: BAD_HEADER naming a column of the options that the file lacks, or that the options use
// twice.
absl::StatusOr<CsvLayout> MakeCsvLayout(const std::vector<std::string>& names,
                                        const CsvOptions& options);

}  // namespace mercer

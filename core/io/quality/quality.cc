#include "core/io/quality/quality.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/io/quality/dense_scan.h"
#include "core/io/quality/quality_scan.h"

namespace mercer {
namespace quality {

absl::Status Cancelled() {
  return absl::CancelledError("nobody wants the data's quality any more");
}

namespace {

absl::StatusOr<std::vector<ColumnScan>> ScanDense(const FeatureBlock& block, Index first_place,
                                                  const CancelCheck& is_cancelled,
                                                  std::vector<uint64_t>& row_hashes) {
  const Index width = ScannedColumns(block);
  const Index stride = block.values.cols();
  const auto hashed = static_cast<Index>(row_hashes.size());
  DenseScan scan(width, first_place);
  Index end = 0;
  for (Index row = 0; row < block.values.rows(); row = end) {
    if (is_cancelled()) {
      return Cancelled();
    }
    end = std::min(row + RowsPerPoll(width), row < hashed ? hashed : block.values.rows());
    scan.Add(block.values.view().data() + row * stride, end - row, stride,
             row < hashed ? &row_hashes[static_cast<size_t>(row)] : nullptr);
  }
  return scan.TakeColumns();
}

absl::StatusOr<std::vector<ColumnScan>> ScanSparse(const FeatureBlock& block, Index first_place,
                                                   const CancelCheck& is_cancelled,
                                                   std::vector<uint64_t>& row_hashes) {
  const Index width = ScannedColumns(block);
  std::vector<ColumnScan> columns(static_cast<size_t>(width));
  std::vector<PlaceKey> column_keys;
  for (Index c = 0; c < width; ++c) {
    column_keys.push_back(KeyOfPlace(first_place + c));
  }
  PlaceKey row_key;
  uint64_t* row_hash = nullptr;
  uint64_t ignored = 0;
  const auto begin_row = [&](Index row) {
    row_key = KeyOfPlace(row);
    const auto position = static_cast<size_t>(row);
    row_hash = position < row_hashes.size() ? &row_hashes[position] : &ignored;
    return true;
  };
  MERCER_RETURN_IF_ERROR(
      ForEachCell(block, is_cancelled, begin_row, [&](Index row, Index column, double value) {
        const auto c = static_cast<size_t>(column);
        columns[c].Visit(row, value);
        columns[c].hash += CellHash(value, row_key);
        *row_hash += CellHash(value, column_keys[c]);
      }));
  for (ColumnScan& column : columns) {
    // What is neither another number nor missing is a zero, stored or not.
    if (column.nonzeros + column.missing < block.sparse.rows()) {
      column.AddZeros();
    }
  }
  return columns;
}

template <typename Visit>
void ForEachColumn(const Scan& scan, const Visit& visit) {
  for (size_t b = 0; b < scan.blocks.size(); ++b) {
    for (size_t c = 0; c < scan.blocks[b].size(); ++c) {
      visit(ColumnPlace{static_cast<Index>(b), static_cast<Index>(c)}, scan.blocks[b][c]);
    }
  }
  for (size_t c = 0; c < scan.role_columns.size(); ++c) {
    visit(ColumnPlace{kRoleColumns, static_cast<Index>(c)}, scan.role_columns[c]);
  }
}

void ListMissingAndConstant(const Scan& scan, DataQuality& quality) {
  ForEachColumn(scan, [&](const ColumnPlace& place, const ColumnScan& column) {
    if (column.missing > 0) {
      quality.num_missing_cells += column.missing;
      if (quality.num_missing_columns++ < static_cast<int64_t>(DataQuality::kMaxListed)) {
        quality.missing.push_back({place, column.missing, column.missing_rows});
      }
    }
    if (column.constant() &&
        quality.num_constant++ < static_cast<int64_t>(DataQuality::kMaxListed)) {
      quality.constant.push_back(place);
    }
  });
}

void FindScales(const Dataset& dataset, const Scan& scan, DataQuality& quality) {
  std::optional<DataQuality::Scale> smallest;
  std::optional<DataQuality::Scale> largest;
  for (size_t b = 0; b < scan.blocks.size(); ++b) {
    const FeatureBlock& block = dataset.blocks[b];
    for (size_t c = 0; c < scan.blocks[b].size() && !block.is_sparse; ++c) {
      const ColumnScan& column = scan.blocks[b][c];
      const bool categorical = c < block.columns.size() && block.columns[c].categorical;
      if (categorical || column.constant()) {
        continue;
      }
      const DataQuality::Scale scale{{static_cast<Index>(b), static_cast<Index>(c)},
                                     column.max - column.min};
      if (!smallest.has_value() || scale.range < smallest->range) {
        smallest = scale;
      }
      if (!largest.has_value() || scale.range > largest->range) {
        largest = scale;
      }
    }
  }
  if (smallest.has_value() && largest->range > DataQuality::kWideScales * smallest->range) {
    quality.scales = {*smallest, *largest};
  }
}

}  // namespace

absl::Status ScanDataset(const Dataset& dataset, const CancelCheck& is_cancelled, Scan& scan) {
  if (!dataset.blocks.empty()) {
    scan.row_hashes.resize(HashedRows(dataset.rows));
  }
  Index first_place = 0;
  for (const FeatureBlock& block : dataset.blocks) {
    const auto scan_block = block.is_sparse ? ScanSparse : ScanDense;
    MERCER_ASSIGN_OR_RETURN(std::vector<ColumnScan> columns,
                            scan_block(block, first_place, is_cancelled, scan.row_hashes));
    scan.blocks.push_back(std::move(columns));
    first_place += block.num_columns();
  }
  return ScanRoleColumns(dataset, is_cancelled, scan);
}

absl::Status ScanRoleColumns(const Dataset& dataset, const CancelCheck& is_cancelled, Scan& scan) {
  for (const RoleColumn& column : dataset.role_columns) {
    if (is_cancelled()) {
      return Cancelled();
    }
    ColumnScan& scanned = scan.role_columns.emplace_back();
    for (Index row = 0; row < column.values.size(); ++row) {
      scanned.Visit(row, column.values(row));
      scanned.hash += CellHash(column.values(row), KeyOfPlace(row));
    }
  }
  return absl::OkStatus();
}

// exceptions < 1 % of the known values. A value other than zero that has so many of the n known
// ones has more than 0.99 n - 0.01 n votes, so only few columns must be counted.
absl::Status FindNearlyConstant(const Dataset& dataset, const Scan& scan,
                                const CancelCheck& is_cancelled, DataQuality& quality) {
  const auto add = [&](const ColumnPlace& place, double value, int64_t exceptions, int64_t known) {
    if (exceptions > 0 && exceptions * 100 < known &&
        quality.num_nearly_constant++ < static_cast<int64_t>(DataQuality::kMaxListed)) {
      quality.nearly_constant.push_back({place, value, exceptions});
    }
  };
  const auto is_zero_nearly_all = [](const ColumnScan& column, int64_t known) {
    return column.nonzeros * 100 < known;
  };
  const auto must_be_counted = [&](const ColumnScan& column, int64_t known) {
    return !column.constant() && !is_zero_nearly_all(column, known) &&
           column.votes * 100 >= known * 98;
  };
  for (size_t b = 0; b < scan.blocks.size(); ++b) {
    const std::vector<ColumnScan>& columns = scan.blocks[b];
    std::vector<int64_t> equal(columns.size(), 0);
    const bool count = std::any_of(columns.begin(), columns.end(), [&](const ColumnScan& column) {
      return must_be_counted(column, dataset.rows - column.missing);
    });
    if (count) {
      MERCER_RETURN_IF_ERROR(ForEachCell(
          dataset.blocks[b], is_cancelled, [](Index) { return true; },
          [&](Index, Index column, double value) {
            const auto c = static_cast<size_t>(column);
            equal[c] += value == columns[c].candidate ? 1 : 0;
          }));
    }
    for (size_t c = 0; c < columns.size(); ++c) {
      const int64_t known = dataset.rows - columns[c].missing;
      const ColumnPlace place{static_cast<Index>(b), static_cast<Index>(c)};
      if (!columns[c].constant() && is_zero_nearly_all(columns[c], known)) {
        add(place, 0, columns[c].nonzeros, known);
      } else if (must_be_counted(columns[c], known)) {
        add(place, columns[c].candidate, known - equal[c], known);
      }
    }
  }
  for (size_t c = 0; c < scan.role_columns.size(); ++c) {
    const ColumnScan& column = scan.role_columns[c];
    const int64_t known = dataset.rows - column.missing;
    const ColumnPlace place{kRoleColumns, static_cast<Index>(c)};
    const auto& values = dataset.role_columns[c].values;
    if (!column.constant() && is_zero_nearly_all(column, known)) {
      add(place, 0, column.nonzeros, known);
    } else if (must_be_counted(column, known)) {
      add(place, column.candidate, known - (values.array() == column.candidate).count(), known);
    }
  }
  return absl::OkStatus();
}

}  // namespace quality

absl::StatusOr<DataQuality> AssessQuality(const Dataset& dataset, quality::Scan& scan,
                                          const std::function<bool()>& is_cancelled) {
  DataQuality result;
  quality::ListMissingAndConstant(scan, result);
  quality::FindScales(dataset, scan, result);
  MERCER_RETURN_IF_ERROR(quality::FindNearlyConstant(dataset, scan, is_cancelled, result));
  MERCER_RETURN_IF_ERROR(quality::FindEqualColumns(dataset, scan, is_cancelled, result));
  MERCER_RETURN_IF_ERROR(quality::FindUnreadable(dataset, is_cancelled, result));
  MERCER_RETURN_IF_ERROR(quality::FindLeaks(dataset, scan, is_cancelled, result));
  MERCER_RETURN_IF_ERROR(quality::FindDuplicateRows(dataset, scan, is_cancelled, result));
  return result;
}

absl::StatusOr<DataQuality> AssessQuality(const Dataset& dataset,
                                          const std::function<bool()>& is_cancelled) {
  quality::Scan scan;
  MERCER_RETURN_IF_ERROR(quality::ScanDataset(dataset, is_cancelled, scan));
  return AssessQuality(dataset, scan, is_cancelled);
}

}  // namespace mercer

// Columns that say the same: one another, or the target.
#include <algorithm>
#include <functional>
#include <string>
#include <tuple>

#include "core/base/status/status_macros.h"
#include "core/io/quality/quality_scan.h"

namespace mercer::quality {
namespace {

const ColumnSchema* SchemaOf(const FeatureBlock& block, Index column) {
  const auto position = static_cast<size_t>(column);
  return position < block.columns.size() ? &block.columns[position] : nullptr;
}

bool IsSameType(const ColumnSchema* a, const ColumnSchema* b) {
  static const ColumnSchema kNumeric;
  const ColumnSchema& first = a == nullptr ? kNumeric : *a;
  const ColumnSchema& second = b == nullptr ? kNumeric : *b;
  return first.categorical == second.categorical && first.categories == second.categories;
}

// Columns that may be equal have equal keys: values and categories.
uint64_t KeyOf(const ColumnScan& column, const ColumnSchema* schema) {
  uint64_t key = column.hash;
  if (schema != nullptr && schema->categorical) {
    key = Mix(key + 1);
    for (const std::string& category : schema->categories) {
      key = Mix(key + std::hash<std::string>()(category));
    }
  }
  return key;
}

// A column and the first one that may be equal to it.
struct Suspect {
  ColumnPlace column;
  ColumnPlace first;
  bool equal = true;
};

std::vector<Suspect> FindSuspects(const Dataset& dataset, const Scan& scan,
                                  const std::vector<size_t>& blocks) {
  struct Keyed {
    uint64_t key;
    ColumnPlace place;
  };
  std::vector<Keyed> all;
  for (const size_t b : blocks) {
    for (size_t c = 0; c < scan.blocks[b].size(); ++c) {
      const ColumnScan& column = scan.blocks[b][c];
      if (!column.constant()) {
        const auto position = static_cast<Index>(c);
        all.push_back({KeyOf(column, SchemaOf(dataset.blocks[b], position)),
                       {static_cast<Index>(b), position}});
      }
    }
  }
  const auto order = [](const Keyed& a, const Keyed& b) {
    return std::tie(a.key, a.place.block, a.place.column) <
           std::tie(b.key, b.place.block, b.place.column);
  };
  std::sort(all.begin(), all.end(), order);
  std::vector<Suspect> suspects;
  for (size_t i = 0, first = 0; i < all.size(); ++i) {
    first = all[i].key == all[first].key ? first : i;
    if (i != first) {
      suspects.push_back({all[i].place, all[first].place});
    }
  }
  std::sort(suspects.begin(), suspects.end(), [](const Suspect& a, const Suspect& b) {
    return std::tie(a.column.block, a.column.column) < std::tie(b.column.block, b.column.column);
  });
  return suspects;
}

absl::Status CompareDense(const Dataset& dataset, const CancelCheck& is_cancelled,
                          std::vector<Suspect>& suspects) {
  const auto value = [&](const ColumnPlace& place, Index row) {
    return dataset.blocks[static_cast<size_t>(place.block)].values.view()(row, place.column);
  };
  const Index poll = RowsPerPoll(static_cast<Index>(suspects.size()));
  for (Index row = 0; row < dataset.rows && !suspects.empty(); ++row) {
    if (row % poll == 0 && is_cancelled()) {
      return Cancelled();
    }
    for (Suspect& suspect : suspects) {
      suspect.equal =
          suspect.equal && SameValue(value(suspect.column, row), value(suspect.first, row));
    }
  }
  for (Suspect& suspect : suspects) {
    const auto schema = [&](const ColumnPlace& place) {
      return SchemaOf(dataset.blocks[static_cast<size_t>(place.block)], place.column);
    };
    suspect.equal = suspect.equal && IsSameType(schema(suspect.column), schema(suspect.first));
  }
  return absl::OkStatus();
}

// Equal when every value of the column that is not zero is the other's in its row, and the other
// has no more of them.
absl::Status CompareSparse(const FeatureBlock& block, const std::vector<ColumnScan>& columns,
                           const CancelCheck& is_cancelled, std::vector<Suspect>& suspects) {
  if (suspects.empty()) {
    return absl::OkStatus();
  }
  std::vector<Suspect*> suspect_of(columns.size(), nullptr);
  for (Suspect& suspect : suspects) {
    const ColumnScan& column = columns[static_cast<size_t>(suspect.column.column)];
    const ColumnScan& first = columns[static_cast<size_t>(suspect.first.column)];
    suspect.equal = column.nonzeros == first.nonzeros && column.missing == first.missing;
    suspect_of[static_cast<size_t>(suspect.column.column)] = &suspect;
  }
  // Only of the columns looked at: a block of a few bytes may have very many.
  std::vector<double> expanded(columns.size(), 0.0);
  const auto set_row = [&](Index row, bool filled) {
    const auto end = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row) + 1]);
    for (auto entry = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row)]);
         entry < end; ++entry) {
      const auto column = static_cast<size_t>(block.sparse.column_indices[entry]);
      if (column < expanded.size()) {
        expanded[column] = filled ? block.sparse.values[entry] : 0.0;
      }
    }
  };
  return ForEachCell(
      block, is_cancelled,
      [&](Index row) {
        if (row > 0) {
          set_row(row - 1, false);
        }
        set_row(row, true);
        return true;
      },
      [&](Index, Index column, double value) {
        Suspect* suspect = suspect_of[static_cast<size_t>(column)];
        if (suspect != nullptr &&
            !SameValue(value, expanded[static_cast<size_t>(suspect->first.column)])) {
          suspect->equal = false;
        }
      });
}

void Report(const std::vector<Suspect>& suspects, DataQuality& quality) {
  for (const Suspect& suspect : suspects) {
    if (suspect.equal &&
        quality.num_equal_columns++ < static_cast<int64_t>(DataQuality::kMaxListed)) {
      quality.equal_columns.push_back({suspect.column, suspect.first});
    }
  }
}

}  // namespace

absl::Status FindEqualColumns(const Dataset& dataset, const Scan& scan,
                              const CancelCheck& is_cancelled, DataQuality& quality) {
  std::vector<size_t> dense;
  for (size_t b = 0; b < dataset.blocks.size(); ++b) {
    if (!dataset.blocks[b].is_sparse) {
      dense.push_back(b);
    }
  }
  std::vector<Suspect> suspects = FindSuspects(dataset, scan, dense);
  MERCER_RETURN_IF_ERROR(CompareDense(dataset, is_cancelled, suspects));
  Report(suspects, quality);
  for (size_t b = 0; b < dataset.blocks.size(); ++b) {
    if (dataset.blocks[b].is_sparse) {
      suspects = FindSuspects(dataset, scan, {b});
      MERCER_RETURN_IF_ERROR(
          CompareSparse(dataset.blocks[b], scan.blocks[b], is_cancelled, suspects));
      Report(suspects, quality);
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::quality

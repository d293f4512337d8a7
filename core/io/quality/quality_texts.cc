// Columns that nothing is learned from as they are: identifiers, and texts that are no categories.
#include <algorithm>

#include "core/data/table/row_identifier.h"
#include "core/data/table/text_kind.h"
#include "core/io/quality/quality_scan.h"

namespace mercer::quality {
namespace {

constexpr auto kMaxListed = static_cast<int64_t>(DataQuality::kMaxListed);

// `rows` is the number of rows for a feature, and 0 for a target.
void CheckTexts(const ColumnSchema& schema, Index rows, const ColumnPlace& place,
                DataQuality& quality) {
  const TextKind kind =
      schema.categorical ? KindOfTexts(schema.categories, rows) : TextKind::kCategories;
  if (kind != TextKind::kCategories && quality.num_text_columns++ < kMaxListed) {
    quality.text_columns.push_back({place, kind});
  }
}

}  // namespace

absl::Status FindUnreadable(const Dataset& dataset, const CancelCheck& is_cancelled,
                            DataQuality& quality) {
  const bool may_hold_identifiers = MayHoldIdentifiers(dataset);
  for (size_t b = 0; b < dataset.blocks.size(); ++b) {
    const FeatureBlock& block = dataset.blocks[b];
    const size_t width = block.is_sparse ? 0 : block.columns.size();
    for (size_t c = 0; c < std::min(width, static_cast<size_t>(ScannedColumns(block))); ++c) {
      if (is_cancelled()) {
        return Cancelled();
      }
      const ColumnPlace place{static_cast<Index>(b), static_cast<Index>(c)};
      CheckTexts(block.columns[c], dataset.rows, place, quality);
      if (may_hold_identifiers && LooksLikeIdentifier(block, c) &&
          quality.num_identifiers++ < kMaxListed) {
        quality.identifiers.push_back(place);
      }
    }
  }
  for (size_t c = 0; c < dataset.role_columns.size(); ++c) {
    if (dataset.role_columns[c].role == ColumnRole::kTarget) {
      CheckTexts(dataset.role_columns[c].schema, 0, {kRoleColumns, static_cast<Index>(c)}, quality);
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::quality

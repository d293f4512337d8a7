#include "core/data/preprocess/column_matcher.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"

namespace mercer {
namespace {

// Error about a column as a whole.
absl::Status ColumnError(const BlockTransform& block, size_t column, std::string_view what) {
  const std::string name = ShownColumn(block, column);
  return HeaderError(name, absl::StrCat("block ", Quoted(block.name), ", column ", Quoted(name),
                                        ": ", std::string(what)));
}

bool HasNames(const FeatureBlock& block) {
  return !block.columns.empty() && !block.columns[0].name.empty();
}

class ColumnMatcher {
 public:
  ColumnMatcher(const Dataset& dataset, const BlockTransform& transform, size_t num_model_blocks)
      : dataset_(dataset), transform_(transform), alone_(num_model_blocks == 1) {}

  absl::StatusOr<std::vector<SourceColumn>> Match() const {
    MERCER_ASSIGN_OR_RETURN(std::vector<SourceColumn> sources, Locate());
    for (size_t i = 0; i < sources.size(); ++i) {
      MERCER_RETURN_IF_ERROR(MatchTypes(i, sources[i]));
    }
    return sources;
  }

 private:
  absl::StatusOr<std::vector<SourceColumn>> Locate() const {
    for (size_t b = 0; b < dataset_.blocks.size(); ++b) {
      if (dataset_.blocks[b].name == transform_.name) {
        return LocateInBlock(b);
      }
    }
    if (alone_ && dataset_.blocks.size() == 1 && !HasNames(dataset_.blocks[0])) {
      return ByPosition(0);  // rows without names for a model of one block
    }
    // The same columns may be cut into other blocks.
    std::vector<size_t> all_blocks(dataset_.blocks.size());
    for (size_t b = 0; b < all_blocks.size(); ++b) {
      all_blocks[b] = b;
    }
    absl::StatusOr<std::vector<SourceColumn>> sources = ByName(all_blocks);
    const bool any_names = std::any_of(dataset_.blocks.begin(), dataset_.blocks.end(), HasNames);
    if (!sources.ok() && !any_names) {
      return HeaderError("", absl::StrCat("the rows have no block ", Quoted(transform_.name)));
    }
    return sources;  // an error names the first column that the rows lack
  }

  absl::StatusOr<std::vector<SourceColumn>> LocateInBlock(size_t b) const {
    const bool model_has_names = !transform_.columns.empty() && !transform_.columns[0].name.empty();
    return HasNames(dataset_.blocks[b]) && model_has_names ? ByName({b}) : ByPosition(b);
  }

  absl::StatusOr<std::vector<SourceColumn>> ByName(const std::vector<size_t>& blocks) const {
    HashMap<std::string, SourceColumn> positions;
    for (const size_t b : blocks) {
      for (size_t column = 0; column < dataset_.blocks[b].columns.size(); ++column) {
        positions.emplace(dataset_.blocks[b].columns[column].name,
                          SourceColumn{b, static_cast<Index>(column), {}});
      }
    }
    std::vector<SourceColumn> sources;
    for (size_t i = 0; i < transform_.columns.size(); ++i) {
      const auto found = positions.find(transform_.columns[i].name);
      if (found == positions.end() || transform_.columns[i].name.empty()) {
        return ColumnError(transform_, i, "the rows lack this column");
      }
      sources.push_back(found->second);
    }
    return sources;
  }

  // A sparse block may end before or after the model's: columns that it does not reach are zero.
  absl::StatusOr<std::vector<SourceColumn>> ByPosition(size_t b) const {
    const FeatureBlock& block = dataset_.blocks[b];
    const auto expected = static_cast<Index>(transform_.columns.size());
    Index used = block.num_columns();
    if (block.is_sparse) {
      used = 0;
      for (const int32_t column : block.sparse.column_indices) {
        used = std::max(used, Index{column} + 1);
      }
    }
    if (used > expected || (!block.is_sparse && used < expected)) {
      return HeaderError("", absl::StrCat("block ", Quoted(block.name), " of the rows has ", used,
                                          " columns, the model's has ", expected));
    }
    std::vector<SourceColumn> sources;
    for (Index column = 0; column < expected; ++column) {
      sources.push_back({b, column < used ? column : -1, {}});
    }
    return sources;
  }

  absl::Status MatchTypes(size_t i, SourceColumn& source) const {
    const ColumnTransform& expected = transform_.columns[i];
    const FeatureBlock& block = dataset_.blocks[source.block];
    const auto column = static_cast<size_t>(source.column);
    const bool described = source.column >= 0 && column < block.columns.size();
    const bool categorical = described && block.columns[column].categorical;
    if (categorical != expected.categorical) {
      return ColumnError(transform_, i,
                         categorical ? "is categorical in the rows and numeric in the model"
                                     : "is numeric in the rows and categorical in the model");
    }
    if (!categorical) {
      return absl::OkStatus();
    }
    HashMap<std::string, int32_t> codes;
    for (size_t c = 0; c < expected.categories.size(); ++c) {
      codes.emplace(expected.categories[c], static_cast<int32_t>(c));
    }
    for (const std::string& category : block.columns[column].categories) {
      const auto found = codes.find(category);
      source.categories.push_back(found == codes.end() ? kUnseenCategory : found->second);
    }
    return absl::OkStatus();
  }

  const Dataset& dataset_;
  const BlockTransform& transform_;
  bool alone_;  // the model has no other block
};

}  // namespace

absl::StatusOr<std::vector<SourceColumn>> MatchColumns(const Dataset& dataset,
                                                       const BlockTransform& transform,
                                                       size_t num_model_blocks) {
  return ColumnMatcher(dataset, transform, num_model_blocks).Match();
}

absl::Status CheckTableSize(std::string_view block, Index rows_in_memory, Index columns) {
  constexpr double kMaxBytes = 8.0 * (1 << 30);
  constexpr double kBytesPerColumn = 256;  // names, statistics
  const double bytes = static_cast<double>(columns) *
                       (static_cast<double>(rows_in_memory) * sizeof(double) + kBytesPerColumn);
  if (bytes <= kMaxBytes) {
    return absl::OkStatus();
  }
  const std::string rows =
      rows_in_memory > 0 ? absl::StrCat(rows_in_memory, " rows and ") : std::string();
  return absl::ResourceExhaustedError(
      absl::StrCat("block ", Quoted(block), " with ", rows, columns,
                   " dense columns needs more than 8 GiB of memory"));
}

std::string ShownColumn(const BlockTransform& block, size_t column) {
  const std::string& name = block.columns[column].name;
  return name.empty() ? absl::StrCat(block.name, "[", column + 1, "]") : name;
}

}  // namespace mercer

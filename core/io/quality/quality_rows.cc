// Rows that occur twice.
#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/io/quality/quality_scan.h"

namespace mercer::quality {
namespace {

// Rows of one hash that differ; more of them than by an extreme accident are an attack, and not
// worth the time.
constexpr size_t kMaxDifferent = 8;

bool HasSameSparse(const SparseRows& sparse, Index a, Index b) {
  const auto start = [&](Index row) { return sparse.row_starts[static_cast<size_t>(row)]; };
  int64_t left = start(a);
  int64_t right = start(b);
  const auto skip_zeros = [&](int64_t& entry, int64_t end) {
    while (entry < end && sparse.values[static_cast<size_t>(entry)] == 0) {
      ++entry;
    }
    return entry < end;
  };
  while (true) {
    const bool more_left = skip_zeros(left, start(a + 1));
    const bool more_right = skip_zeros(right, start(b + 1));
    if (!more_left || !more_right) {
      return more_left == more_right;
    }
    const auto l = static_cast<size_t>(left++);
    const auto r = static_cast<size_t>(right++);
    if (sparse.column_indices[l] != sparse.column_indices[r] ||
        !SameValue(sparse.values[l], sparse.values[r])) {
      return false;
    }
  }
}

bool HasSameFeatures(const Dataset& dataset, Index a, Index b) {
  return std::all_of(dataset.blocks.begin(), dataset.blocks.end(), [&](const FeatureBlock& block) {
    if (block.is_sparse) {
      return HasSameSparse(block.sparse, a, b);
    }
    const Index width = block.values.cols();
    const double* first = block.values.view().data();
    return std::equal(first + a * width, first + (a + 1) * width, first + b * width, SameValue);
  });
}

bool IsConflicting(const Dataset& dataset, Index a, Index b) {
  return std::any_of(
      dataset.role_columns.begin(), dataset.role_columns.end(), [&](const RoleColumn& column) {
        const bool counts = column.role == ColumnRole::kTarget ||
                            column.role == ColumnRole::kTask || column.role == ColumnRole::kWeight;
        return counts && !SameValue(column.values(a), column.values(b));
      });
}

bool IsEarlier(const DataQuality::DuplicateRow& a, const DataQuality::DuplicateRow& b) {
  return a.row < b.row;
}

// Keeps the first rows in a heap, the last of them on top.
void Report(const DataQuality::DuplicateRow& duplicate, DataQuality& quality) {
  ++quality.num_duplicate_rows;
  quality.num_conflicting_rows += duplicate.conflicting ? 1 : 0;
  std::vector<DataQuality::DuplicateRow>& listed = quality.duplicate_rows;
  listed.push_back(duplicate);
  std::push_heap(listed.begin(), listed.end(), IsEarlier);
  if (listed.size() > DataQuality::kMaxListed) {
    std::pop_heap(listed.begin(), listed.end(), IsEarlier);
    listed.pop_back();
  }
}

using HashedRow = std::pair<uint64_t, int64_t>;

// How many rows are compared between two questions whether to go on.
Index ComparedRowsPerPoll(const Dataset& dataset) {
  Index width = 1;
  for (const FeatureBlock& block : dataset.blocks) {
    width += block.is_sparse ? 64 : block.values.cols();
  }
  return RowsPerPoll(width);
}

// The rows of one hash, in their order; they are more than one. Errors: kCancelled.
absl::Status CompareGroup(const Dataset& dataset, const HashedRow* begin, const HashedRow* end,
                          const CancelCheck& is_cancelled, DataQuality& quality) {
  const Index poll = ComparedRowsPerPoll(dataset);
  std::vector<int64_t> different;
  for (const auto* entry = begin; entry != end; ++entry) {
    if ((entry - begin) % poll == 0 && is_cancelled()) {
      return Cancelled();
    }
    const int64_t row = entry->second;
    const auto first = std::find_if(different.begin(), different.end(), [&](int64_t earlier) {
      return HasSameFeatures(dataset, earlier, row);
    });
    if (first != different.end()) {
      Report({row + 1, *first + 1, IsConflicting(dataset, *first, row)}, quality);
    } else if (different.size() < kMaxDifferent) {
      different.push_back(row);
    }
  }
  return absl::OkStatus();
}

// In the order of their hashes, then of the rows: first by the hashes' leading bits, then within
// those few that have the same.
std::vector<HashedRow> SortByHash(const std::vector<uint64_t>& hashes) {
  constexpr int kMaxBits = 20;
  const int bits = std::clamp(static_cast<int>(std::bit_width(hashes.size())) - 2, 1, kMaxBits);
  const auto bucket_of = [bits](uint64_t hash) { return static_cast<size_t>(hash >> (64 - bits)); };
  std::vector<size_t> ends((size_t{1} << bits) + 1, 0);
  for (const uint64_t hash : hashes) {
    ++ends[bucket_of(Mix(hash)) + 1];
  }
  std::partial_sum(ends.begin(), ends.end(), ends.begin());
  std::vector<HashedRow> rows(hashes.size());
  for (size_t row = 0; row < hashes.size(); ++row) {
    const uint64_t mixed = Mix(hashes[row]);  // one to one, and its leading bits differ
    rows[ends[bucket_of(mixed)]++] = {mixed, static_cast<int64_t>(row)};
  }
  size_t begin = 0;
  for (size_t bucket = 0; bucket + 1 < ends.size(); ++bucket) {
    const auto at = [&](size_t position) { return rows.begin() + static_cast<int64_t>(position); };
    std::sort(at(begin), at(ends[bucket]));
    begin = ends[bucket];
  }
  return rows;
}

}  // namespace

absl::Status FindDuplicateRows(const Dataset& dataset, Scan& scan, const CancelCheck& is_cancelled,
                               DataQuality& quality) {
  const std::vector<HashedRow> rows = SortByHash(scan.row_hashes);
  scan.row_hashes = {};
  const auto* const end = rows.data() + rows.size();
  size_t groups = 0;
  for (const auto* begin = rows.data(); begin != end;) {
    const auto* group_end = begin + 1;
    while (group_end != end && group_end->first == begin->first) {
      ++group_end;
    }
    constexpr size_t kGroupsPerPoll = 4096;
    if (group_end - begin > 1) {
      MERCER_RETURN_IF_ERROR(CompareGroup(dataset, begin, group_end, is_cancelled, quality));
    } else if (groups++ % kGroupsPerPoll == 0 && is_cancelled()) {
      return Cancelled();
    }
    begin = group_end;
  }
  std::sort_heap(quality.duplicate_rows.begin(), quality.duplicate_rows.end(), IsEarlier);
  return absl::OkStatus();
}

}  // namespace mercer::quality

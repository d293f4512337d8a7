// The splits as they have always been drawn, written without regard to time: the same seed must
// divide the same rows in the same way for ever, or models of before could not be made again.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/data/splits/splits.h"
#include "tests/support/sanitized.h"

namespace mercer {
namespace former {

using Lists = std::vector<std::vector<Index>>;

Lists ShuffledClasses(Index rows, const std::vector<int>& classes, uint64_t seed,
                      std::string_view purpose) {
  std::map<int, std::vector<Index>> by_code;
  for (Index row = 0; row < rows; ++row) {
    by_code[classes.empty() ? 0 : classes[static_cast<size_t>(row)]].push_back(row);
  }
  Lists lists;
  for (auto& [code, members] : by_code) {
    RandomStream(seed, purpose, lists.size()).Shuffle(members);
    lists.push_back(members);
  }
  return lists;
}

// How many rows of each class are held out: by largest remainders (ties: the first class), and at
// most all rows of a class but one.
std::vector<Index> HeldOutCounts(const Lists& classes, Index rows, Index total) {
  std::vector<Index> counts;
  std::vector<double> remainders;
  for (const std::vector<Index>& members : classes) {
    const auto size = static_cast<Index>(members.size());
    const double quota =
        static_cast<double>(total) * static_cast<double>(size) / static_cast<double>(rows);
    counts.push_back(std::min(static_cast<Index>(quota), size - 1));
    remainders.push_back(quota - static_cast<double>(counts.back()));
  }
  std::vector<size_t> order(classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  Index missing = total - std::accumulate(counts.begin(), counts.end(), Index{0});
  for (bool progress = true; missing > 0 && progress;) {
    progress = false;
    for (const size_t c : order) {
      if (missing > 0 && counts[c] + 1 < static_cast<Index>(classes[c].size())) {
        ++counts[c];
        --missing;
        progress = true;
      }
    }
  }
  return counts;
}

// 1 for the rows held out, which are the first of the shuffled lists.
std::vector<int> PartOfRow(Index rows, double fraction, const std::vector<int>& classes,
                           uint64_t seed) {
  const auto total = static_cast<Index>(std::llround(fraction * static_cast<double>(rows)));
  const Lists lists = ShuffledClasses(rows, classes, seed, "holdout-split");
  const std::vector<Index> counts =
      classes.empty() ? std::vector<Index>{total} : HeldOutCounts(lists, rows, total);
  std::vector<int> part(static_cast<size_t>(rows), 0);
  for (size_t c = 0; c < lists.size(); ++c) {
    for (Index i = 0; i < counts[c]; ++i) {
      part[static_cast<size_t>(lists[c][static_cast<size_t>(i)])] = 1;
    }
  }
  return part;
}

// Deals the rows of the shuffled classes as cards.
std::vector<int> FoldOfRow(Index rows, int folds, const std::vector<int>& classes, uint64_t seed) {
  std::vector<int> fold_of_row(static_cast<size_t>(rows));
  int next = 0;
  for (const std::vector<Index>& members : ShuffledClasses(rows, classes, seed, "k-fold-splits")) {
    for (const Index row : members) {
      fold_of_row[static_cast<size_t>(row)] = next;
      next = (next + 1) % folds;
    }
  }
  return fold_of_row;
}

// Rows by class: 0 is "all rows", from 1 on the codes in ascending order.
using ClassCounts = std::map<size_t, double>;

struct Groups {
  std::vector<ClassCounts> counts;
  std::vector<size_t> order;
  ClassCounts totals;
};

Groups CountGroups(const std::vector<int>& groups, const std::vector<int>& classes, uint64_t seed,
                   std::string_view purpose) {
  std::map<int, size_t> numbers;
  for (const int code : classes) {
    numbers.try_emplace(code, 0);
  }
  size_t next_number = 1;
  for (auto& [code, number] : numbers) {
    number = next_number++;
  }
  Groups result;
  for (size_t row = 0; row < groups.size(); ++row) {
    const auto group = static_cast<size_t>(groups[row]);
    result.counts.resize(std::max(result.counts.size(), group + 1));
    result.counts[group][0] += 1;
    result.totals[0] += 1;
    if (!classes.empty()) {
      const size_t number = numbers[classes[row]];
      result.counts[group][number] += 1;
      result.totals[number] += 1;
    }
  }
  result.order.resize(result.counts.size());
  std::iota(result.order.begin(), result.order.end(), size_t{0});
  RandomStream(seed, purpose).Shuffle(result.order);
  std::stable_sort(result.order.begin(), result.order.end(), [&](size_t a, size_t b) {
    return result.counts[a].at(0) > result.counts[b].at(0);
  });
  return result;
}

struct Part {
  double Cost(const ClassCounts& group) const {
    double cost = 0;
    for (const auto& [number, count] : group) {
      const auto at = counts.find(number);
      const double own = at == counts.end() ? 0.0 : at->second;
      cost += count * (2 * own + count) / (share * totals.at(number));
    }
    return cost;
  }
  double Rows(size_t number) const {
    const auto at = counts.find(number);
    return at == counts.end() ? 0.0 : at->second;
  }
  void Add(const ClassCounts& group, double sign) {
    for (const auto& [number, count] : group) {
      counts[number] += sign * count;
    }
  }

  double share;
  ClassCounts totals;
  ClassCounts counts = {};
};

// Of each group whether it is held out.
std::vector<bool> HeldOutGroups(const std::vector<int>& groups, double fraction,
                                const std::vector<int>& classes, uint64_t seed) {
  const Groups counted = CountGroups(groups, classes, seed, "group-holdout-split");
  std::map<size_t, size_t> last_position;
  for (size_t position = 0; position < counted.order.size(); ++position) {
    for (const auto& [number, count] : counted.counts[counted.order[position]]) {
      last_position[number] = position;
    }
  }
  Part training{1 - fraction, counted.totals};
  Part held_out{fraction, counted.totals};
  std::vector<bool> is_held_out(counted.counts.size(), false);
  for (size_t position = 0; position < counted.order.size(); ++position) {
    const size_t group = counted.order[position];
    const ClassCounts& counts = counted.counts[group];
    const bool needed = std::any_of(counts.begin(), counts.end(), [&](const auto& entry) {
      return training.Rows(entry.first) == 0 && last_position[entry.first] == position;
    });
    is_held_out[group] = !needed && held_out.Cost(counts) < training.Cost(counts);
    (is_held_out[group] ? held_out : training).Add(counts, 1);
  }
  for (size_t i = counted.order.size(); i > 0 && held_out.Rows(0) == 0; --i) {
    const size_t group = counted.order[i - 1];
    const ClassCounts& counts = counted.counts[group];
    if (std::all_of(counts.begin(), counts.end(),
                    [&](const auto& entry) { return training.Rows(entry.first) > entry.second; })) {
      training.Add(counts, -1);
      held_out.Add(counts, 1);
      is_held_out[group] = true;
    }
  }
  return is_held_out;
}

std::vector<int> FoldOfGroup(const std::vector<int>& groups, int folds,
                             const std::vector<int>& classes, uint64_t seed) {
  const Groups counted = CountGroups(groups, classes, seed, "group-k-fold-splits");
  std::vector<Part> parts(static_cast<size_t>(folds), Part{1.0 / folds, counted.totals});
  std::vector<int> fold_of_group(counted.counts.size());
  for (const size_t group : counted.order) {
    size_t best = 0;
    for (size_t p = 1; p < parts.size(); ++p) {
      best =
          parts[p].Cost(counted.counts[group]) < parts[best].Cost(counted.counts[group]) ? p : best;
    }
    parts[best].Add(counted.counts[group], 1);
    fold_of_group[group] = static_cast<int>(best);
  }
  return fold_of_group;
}

}  // namespace former

namespace {

struct DrawnTable {
  std::vector<int> groups;
  std::vector<int> classes;
  double fraction = 0;
  int folds = 0;
};

// Codes of groups are in use from 0 on; those of classes are any numbers, or none.
DrawnTable DrawTable(uint64_t seed, Index rows) {
  RandomStream random(seed, "former-splits-test");
  DrawnTable table;
  const uint64_t num_groups = 2 + random.Below(static_cast<uint64_t>(rows) - 1);
  const uint64_t num_classes = random.Below(6);
  for (Index row = 0; row < rows; ++row) {
    const bool first = row < static_cast<Index>(num_groups);
    const uint64_t group = std::min(random.Below(num_groups), random.Below(num_groups));
    table.groups.push_back(static_cast<int>(first ? static_cast<uint64_t>(row) : group));
    if (num_classes > 0) {
      table.classes.push_back(7 - 3 * static_cast<int>(random.Below(num_classes)));
    }
  }
  random.Shuffle(table.groups);
  table.fraction = 0.05 + 0.9 * random.Uniform();
  table.folds = 2 + static_cast<int>(random.Below(std::min<uint64_t>(num_groups - 1, 9)));
  return table;
}

std::vector<Split> SplitsByFold(const std::vector<int>& fold_of_row, int folds) {
  std::vector<Split> splits(static_cast<size_t>(folds));
  for (int fold = 0; fold < folds; ++fold) {
    Split& split = splits[static_cast<size_t>(fold)];
    for (size_t row = 0; row < fold_of_row.size(); ++row) {
      (fold_of_row[row] == fold ? split.held_out : split.training)
          .push_back(static_cast<Index>(row));
    }
  }
  return splits;
}

std::vector<Split> SplitsByGroup(const std::vector<int>& groups,
                                 const std::vector<int>& fold_of_group, int folds) {
  std::vector<int> fold_of_row;
  for (const int group : groups) {
    fold_of_row.push_back(fold_of_group[static_cast<size_t>(group)]);
  }
  return SplitsByFold(fold_of_row, folds);
}

void ExpectSame(const absl::StatusOr<std::vector<Split>>& splits,
                const std::vector<Split>& expected) {
  ASSERT_TRUE(splits.ok()) << splits.status();
  ASSERT_EQ(splits->size(), expected.size());
  for (size_t fold = 0; fold < expected.size(); ++fold) {
    ASSERT_TRUE((*splits)[fold].held_out == expected[fold].held_out) << "fold " << fold;
    ASSERT_TRUE((*splits)[fold].training == expected[fold].training) << "fold " << fold;
  }
}

void ExpectFormerHoldOut(const DrawnTable& table, uint64_t seed) {
  const auto rows = static_cast<Index>(table.groups.size());
  const std::vector<int> part = former::PartOfRow(rows, table.fraction, table.classes, seed);
  const auto held_out = std::count(part.begin(), part.end(), 1);
  const absl::StatusOr<Split> split =
      HoldOutSplit(rows, table.fraction, table.classes, seed, RunContext());
  ASSERT_EQ(split.ok(), held_out > 0 && held_out < rows) << split.status();
  if (split.ok()) {
    ExpectSame(std::vector<Split>{*split}, {SplitsByFold(part, 2)[1]});
  }
}

void ExpectFormerGroupHoldOut(const DrawnTable& table, uint64_t seed) {
  std::vector<int> part;
  bool any = false;
  for (const bool held_out :
       former::HeldOutGroups(table.groups, table.fraction, table.classes, seed)) {
    part.push_back(held_out ? 1 : 0);
    any = any || held_out;
  }
  const absl::StatusOr<Split> split =
      GroupHoldOutSplit(table.groups, table.fraction, table.classes, seed, RunContext());
  ASSERT_EQ(split.ok(), any) << split.status();
  if (any) {
    ExpectSame(std::vector<Split>{*split}, {SplitsByGroup(table.groups, part, 2)[1]});
  }
}

void ExpectFormerSplits(uint64_t seed, Index rows) {
  const DrawnTable table = DrawTable(seed, rows);
  ExpectFormerHoldOut(table, seed);
  ExpectFormerGroupHoldOut(table, seed);
  ExpectSame(KFoldSplits(rows, table.folds, table.classes, seed, RunContext()),
             SplitsByFold(former::FoldOfRow(rows, table.folds, table.classes, seed), table.folds));
  const std::vector<int> fold_of_group =
      former::FoldOfGroup(table.groups, table.folds, table.classes, seed);
  ExpectSame(GroupKFoldSplits(table.groups, table.folds, table.classes, seed, RunContext()),
             SplitsByGroup(table.groups, fold_of_group, table.folds));
}

TEST(FormerSplitsTest, SeedsDivideTablesAsEver) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    ExpectFormerSplits(seed, 2 + static_cast<Index>(seed % 211));
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

// Long lists are sorted in pieces.
TEST(FormerSplitsTest, SeedsDivideLongTablesAsEver) {
  for (uint64_t seed = 0; seed < (kSanitized ? 1 : 2); ++seed) {
    ExpectFormerSplits(seed, 100'000);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace mercer

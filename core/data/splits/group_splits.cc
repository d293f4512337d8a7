// Splits that keep groups of rows together.
//
// A pass over the groups, the largest first (equal ones in random order), puts each into the part
// where it raises
//
//     sum over parts p and classes c of  n(p, c)^2 / (share(p) n(c))
//
// least, where n(p, c) counts the rows of class c in part p so far, and "all rows" is one class
// more. The whole sum is smallest when every part holds its share of every class. Ties go to the
// first part.
#include <algorithm>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/splits.h"

namespace mercer {
namespace {

// Rows by class: 0 is "all rows", from 1 on the codes in ascending order.
using ClassCounts = std::map<size_t, double>;

struct Groups {
  std::vector<ClassCounts> counts;  // by group
  std::vector<size_t> order;        // of the pass
  ClassCounts totals;
};

absl::StatusOr<Groups> CountGroups(const std::vector<int>& groups, const std::vector<int>& classes,
                                   uint64_t seed, std::string_view purpose) {
  if (!classes.empty() && classes.size() != groups.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(classes.size(), " class codes for ", groups.size(), " rows"));
  }
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

// A part of a split while it is filled.
class Part {
 public:
  Part(double share, const ClassCounts& totals)
      : share_(share), totals_(totals), counts_(totals.size(), 0.0) {}

  // How much the sum of the file's beginning grows when the group joins this part: for each class
  // of the group ((n + g)^2 - n^2) / (share n(c)), g being the group's rows of the class.
  double Cost(const ClassCounts& group) const {
    double cost = 0;
    for (const auto& [number, count] : group) {
      cost += count * (2 * counts_[number] + count) / (share_ * totals_.at(number));
    }
    return cost;
  }
  void Add(const ClassCounts& group) {
    for (const auto& [number, count] : group) {
      counts_[number] += count;
    }
  }
  void Remove(const ClassCounts& group) {
    for (const auto& [number, count] : group) {
      counts_[number] -= count;
    }
  }
  double Rows(size_t number) const { return counts_[number]; }

 private:
  double share_;
  const ClassCounts& totals_;
  std::vector<double> counts_;
};

// Which groups a hold-out holds out: one flag per group, no flag set when it cannot be done.
std::vector<bool> HeldOutGroups(const Groups& groups, double fraction) {
  std::vector<size_t> last_position(groups.totals.size(), 0);  // of a group with the class
  for (size_t position = 0; position < groups.order.size(); ++position) {
    for (const auto& [number, count] : groups.counts[groups.order[position]]) {
      last_position[number] = position;
    }
  }
  Part training(1 - fraction, groups.totals);
  Part held_out(fraction, groups.totals);
  std::vector<bool> is_held_out(groups.counts.size(), false);
  for (size_t position = 0; position < groups.order.size(); ++position) {
    const size_t group = groups.order[position];
    const ClassCounts& counts = groups.counts[group];
    const bool needed = std::any_of(counts.begin(), counts.end(), [&](const auto& entry) {
      return training.Rows(entry.first) == 0 && last_position[entry.first] == position;
    });
    is_held_out[group] = !needed && held_out.Cost(counts) < training.Cost(counts);
    (is_held_out[group] ? held_out : training).Add(counts);
  }
  // A part without rows is no part: the smallest group that training can spare.
  for (size_t i = groups.order.size(); i > 0 && held_out.Rows(0) == 0; --i) {
    const size_t group = groups.order[i - 1];
    const ClassCounts& counts = groups.counts[group];
    if (std::all_of(counts.begin(), counts.end(),
                    [&](const auto& entry) { return training.Rows(entry.first) > entry.second; })) {
      training.Remove(counts);
      held_out.Add(counts);
      is_held_out[group] = true;
    }
  }
  return is_held_out;
}

}  // namespace

absl::StatusOr<Split> GroupHoldOutSplit(const std::vector<int>& groups, double fraction,
                                        const std::vector<int>& classes, uint64_t seed) {
  if (!(fraction > 0 && fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the held-out fraction must be in (0, 1), is ", fraction));
  }
  MERCER_ASSIGN_OR_RETURN(const Groups counted,
                          CountGroups(groups, classes, seed, "group-holdout-split"));
  const std::vector<bool> is_held_out = HeldOutGroups(counted, fraction);
  Split split;
  for (size_t row = 0; row < groups.size(); ++row) {
    (is_held_out[static_cast<size_t>(groups[row])] ? split.held_out : split.training)
        .push_back(static_cast<Index>(row));
  }
  if (split.held_out.empty() || split.training.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("of ", counted.counts.size(),
                     " groups none can be held out without taking a class from training"));
  }
  return split;
}

absl::StatusOr<std::vector<Split>> GroupKFoldSplits(const std::vector<int>& groups, int folds,
                                                    const std::vector<int>& classes, uint64_t seed,
                                                    const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Groups counted,
                          CountGroups(groups, classes, seed, "group-k-fold-splits"));
  if (folds < 2 || static_cast<size_t>(folds) > counted.counts.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the number of folds must be in [2, ",
                                                   counted.counts.size(),
                                                   "], the number of groups, is ", folds));
  }
  // An empty fold always costs least, so that none stays empty.
  std::vector<Part> parts(static_cast<size_t>(folds), Part(1.0 / folds, counted.totals));
  std::vector<int> fold_of_group(counted.counts.size());
  for (const size_t group : counted.order) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const ClassCounts& counts = counted.counts[group];
    size_t best = 0;
    double best_cost = parts[0].Cost(counts);
    for (size_t p = 1; p < parts.size(); ++p) {
      const double cost = parts[p].Cost(counts);
      if (cost < best_cost) {
        best = p;
        best_cost = cost;
      }
    }
    parts[best].Add(counts);
    fold_of_group[group] = static_cast<int>(best);
  }
  std::vector<int> fold_of_row(groups.size());
  std::transform(groups.begin(), groups.end(), fold_of_row.begin(),
                 [&](int group) { return fold_of_group[static_cast<size_t>(group)]; });
  return SplitsOfFolds(fold_of_row, folds, context);
}

}  // namespace mercer

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
#include <functional>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"

#include "core/base/numeric/random.h"
#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/splits.h"

namespace mercer {
namespace {

// Of PacedCheck: to count a row, or to judge a group, takes as long as to compute so many numbers.
constexpr Index kNumbersPerCountedRow = 64;

struct ClassCount {
  size_t number = 0;  // of the class: 0 is "all rows", from 1 on the codes in ascending order
  double rows = 0;
};
using ClassCounts = absl::Span<const ClassCount>;  // ascending

struct Groups {
  size_t size() const { return begins.size() - 1; }
  ClassCounts counts(size_t group) const {
    return ClassCounts(entries).subspan(begins[group], begins[group + 1] - begins[group]);
  }
  double rows(size_t group) const { return entries[begins[group]].rows; }

  std::vector<ClassCount> entries;  // those of one group behind those of the other
  std::vector<size_t> begins;       // of the groups, and the end of the last
  std::vector<size_t> order;        // of the pass
  std::vector<double> totals;       // by number
};

// The number of each row's class.
absl::StatusOr<std::vector<size_t>> NumberClasses(const std::vector<int>& classes,
                                                  PacedCheck& check) {
  std::map<int, size_t> numbers;
  for (const int code : classes) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    numbers.try_emplace(code, 0);
  }
  size_t next_number = 1;
  for (auto& [code, number] : numbers) {
    number = next_number++;
  }
  std::vector<size_t> number_of_row;
  number_of_row.reserve(classes.size());
  for (const int code : classes) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    number_of_row.push_back(numbers[code]);
  }
  return number_of_row;
}

// Group and class of each row, and group and "all rows", sorted.
absl::StatusOr<std::vector<std::pair<size_t, size_t>>> SortedPairs(const std::vector<int>& groups,
                                                                   const std::vector<int>& classes,
                                                                   const RunContext& context) {
  PacedCheck check(context);
  MERCER_ASSIGN_OR_RETURN(const std::vector<size_t> numbers, NumberClasses(classes, check));
  std::vector<std::pair<size_t, size_t>> pairs;
  pairs.reserve(2 * groups.size());
  for (size_t row = 0; row < groups.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    const auto group = static_cast<size_t>(groups[row]);
    pairs.emplace_back(group, 0);
    if (!classes.empty()) {
      pairs.emplace_back(group, numbers[row]);
    }
  }
  MERCER_RETURN_IF_ERROR(SortPolled(pairs, std::less<>(), context));
  return pairs;
}

// The groups in random order, those with more rows first.
absl::Status OrderGroups(uint64_t seed, std::string_view purpose, const RunContext& context,
                         Groups& groups) {
  std::vector<size_t> shuffled(groups.size());
  std::iota(shuffled.begin(), shuffled.end(), size_t{0});
  RandomStream stream(seed, purpose);
  MERCER_RETURN_IF_ERROR(ShufflePolled(shuffled, stream, context));
  std::vector<std::pair<double, size_t>> places;  // less the rows, and where in the random order
  places.reserve(shuffled.size());
  for (size_t place = 0; place < shuffled.size(); ++place) {
    places.emplace_back(-groups.rows(shuffled[place]), place);
  }
  MERCER_RETURN_IF_ERROR(SortPolled(places, std::less<>(), context));
  groups.order.reserve(shuffled.size());
  for (const auto& [rows, place] : places) {
    groups.order.push_back(shuffled[place]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Groups> CountGroups(const std::vector<int>& groups, const std::vector<int>& classes,
                                   uint64_t seed, std::string_view purpose,
                                   const RunContext& context) {
  if (!classes.empty() && classes.size() != groups.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat(classes.size(), " class codes for ", groups.size(), " rows"));
  }
  using Pairs = std::vector<std::pair<size_t, size_t>>;
  MERCER_ASSIGN_OR_RETURN(const Pairs pairs, SortedPairs(groups, classes, context));
  Groups result;
  PacedCheck check(context);
  for (size_t i = 0; i < pairs.size(); ++i) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    const auto [group, number] = pairs[i];
    if (i == 0 || group != pairs[i - 1].first) {
      result.begins.push_back(result.entries.size());
    }
    if (i == 0 || pairs[i] != pairs[i - 1]) {
      result.entries.push_back({number, 0});
    }
    result.entries.back().rows += 1;
    result.totals.resize(std::max(result.totals.size(), number + 1), 0.0);
    result.totals[number] += 1;
  }
  result.begins.push_back(result.entries.size());
  MERCER_RETURN_IF_ERROR(OrderGroups(seed, purpose, context, result));
  return result;
}

// A part of a split while it is filled.
class Part {
 public:
  Part(double share, const std::vector<double>& totals)
      : share_(share), totals_(totals), counts_(totals.size(), 0.0) {}

  // How much the sum of the file's beginning grows when the group joins this part: for each class
  // of the group ((n + g)^2 - n^2) / (share n(c)), g being the group's rows of the class.
  double Cost(ClassCounts group) const {
    double cost = 0;
    for (const auto& [number, count] : group) {
      cost += count * (2 * counts_[number] + count) / (share_ * totals_[number]);
    }
    return cost;
  }
  void Add(ClassCounts group) {
    for (const auto& [number, count] : group) {
      counts_[number] += count;
    }
  }
  void Remove(ClassCounts group) {
    for (const auto& [number, count] : group) {
      counts_[number] -= count;
    }
  }
  double Rows(size_t number) const { return counts_[number]; }

 private:
  double share_;
  const std::vector<double>& totals_;
  std::vector<double> counts_;
};

// Which groups a hold-out holds out: one flag per group, no flag set when it cannot be done.
absl::StatusOr<std::vector<bool>> HeldOutGroups(const Groups& groups, double fraction,
                                                const RunContext& context) {
  PacedCheck check(context);
  std::vector<size_t> last_position(groups.totals.size(), 0);  // of a group with the class
  for (size_t position = 0; position < groups.order.size(); ++position) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    for (const auto& [number, count] : groups.counts(groups.order[position])) {
      last_position[number] = position;
    }
  }
  Part training(1 - fraction, groups.totals);
  Part held_out(fraction, groups.totals);
  std::vector<bool> is_held_out(groups.size(), false);
  for (size_t position = 0; position < groups.order.size(); ++position) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    const size_t group = groups.order[position];
    const ClassCounts counts = groups.counts(group);
    const bool needed = std::any_of(counts.begin(), counts.end(), [&](const auto& entry) {
      return training.Rows(entry.number) == 0 && last_position[entry.number] == position;
    });
    is_held_out[group] = !needed && held_out.Cost(counts) < training.Cost(counts);
    (is_held_out[group] ? held_out : training).Add(counts);
  }
  // A part without rows is no part: the smallest group that training can spare.
  for (size_t i = groups.order.size(); i > 0 && held_out.Rows(0) == 0; --i) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    const size_t group = groups.order[i - 1];
    const ClassCounts counts = groups.counts(group);
    if (std::all_of(counts.begin(), counts.end(),
                    [&](const auto& entry) { return training.Rows(entry.number) > entry.rows; })) {
      training.Remove(counts);
      held_out.Add(counts);
      is_held_out[group] = true;
    }
  }
  return is_held_out;
}

}  // namespace

absl::StatusOr<Split> GroupHoldOutSplit(const std::vector<int>& groups, double fraction,
                                        const std::vector<int>& classes, uint64_t seed,
                                        const RunContext& context) {
  if (!(fraction > 0 && fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the held-out fraction must be in (0, 1), is ", fraction));
  }
  MERCER_ASSIGN_OR_RETURN(const Groups counted,
                          CountGroups(groups, classes, seed, "group-holdout-split", context));
  MERCER_ASSIGN_OR_RETURN(const std::vector<bool> is_held_out,
                          HeldOutGroups(counted, fraction, context));
  Split split;
  PacedCheck check(context);
  for (size_t row = 0; row < groups.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    (is_held_out[static_cast<size_t>(groups[row])] ? split.held_out : split.training)
        .push_back(static_cast<Index>(row));
  }
  if (split.held_out.empty() || split.training.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("of ", counted.size(),
                     " groups none can be held out without taking a class from training"));
  }
  return split;
}

absl::StatusOr<std::vector<Split>> GroupKFoldSplits(const std::vector<int>& groups, int folds,
                                                    const std::vector<int>& classes, uint64_t seed,
                                                    const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Groups counted,
                          CountGroups(groups, classes, seed, "group-k-fold-splits", context));
  if (folds < 2 || static_cast<size_t>(folds) > counted.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the number of folds must be in [2, ",
                                                   counted.size(), "], the number of groups, is ",
                                                   folds));
  }
  // An empty fold always costs least, so that none stays empty.
  std::vector<Part> parts(static_cast<size_t>(folds), Part(1.0 / folds, counted.totals));
  std::vector<int> fold_of_group(counted.size());
  for (const size_t group : counted.order) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const ClassCounts counts = counted.counts(group);
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

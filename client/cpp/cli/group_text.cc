#include "client/cpp/cli/group_text.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

constexpr int kWidestGroupBar = 30;
constexpr int kNarrowestGroupBar = 8;
constexpr int kNarrowestGroupName = 28;
constexpr int kNumberWidth = 9;  // "0.000123 "
constexpr int kNormWidth = 14;   // "norm 0.000123"
constexpr char kSelected[] = "    ● ";
constexpr char kNotSelected[] = "    ○ ";
constexpr int kRowIndent = 6;
constexpr int kGroupIndent = 2;

struct RowGroup {
  std::string name;
  double weight = 0;
  double norm = 0;
  std::vector<size_t> shown;  // rows
  size_t count = 0;
  size_t selected = 0;
  size_t selected_rest = 0;  // of the rows that are not shown
};

bool IsSelected(const GroupedRows& rows, size_t row) { return rows.weights[row] != 0.0; }

// The largest weights first.
std::vector<size_t> ShownRows(const GroupedRows& rows, int most) {
  std::vector<size_t> order(rows.weights.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::abs(rows.weights[a]) > std::abs(rows.weights[b]);
  });
  if (most > 0 && order.size() > static_cast<size_t>(most)) {
    order.resize(static_cast<size_t>(most));
    order.erase(std::find_if(order.begin(), order.end(),
                             [&](size_t row) { return !IsSelected(rows, row); }),
                order.end());
  }
  return order;
}

std::vector<RowGroup> MakeGroups(const GroupedRows& rows, int most) {
  std::vector<RowGroup> groups;
  std::map<std::string, size_t> places;
  const auto group_of = [&](size_t row) -> RowGroup& {
    const auto [place, is_new] = places.emplace(rows.groups[row], groups.size());
    if (is_new) {
      groups.emplace_back().name = rows.groups[row];
    }
    return groups[place->second];
  };
  for (size_t row = 0; row < rows.weights.size(); ++row) {
    RowGroup& group = group_of(row);
    group.weight += rows.weights[row];
    group.norm += rows.norms.empty() ? 0.0 : rows.norms[row];
    group.count += 1;
    group.selected += IsSelected(rows, row) ? 1 : 0;
  }
  for (const size_t row : ShownRows(rows, most)) {
    group_of(row).shown.push_back(row);
  }
  for (RowGroup& group : groups) {
    const auto shown = std::count_if(group.shown.begin(), group.shown.end(),
                                     [&](size_t row) { return IsSelected(rows, row); });
    group.selected_rest = group.selected - static_cast<size_t>(shown);
  }
  std::stable_sort(groups.begin(), groups.end(), [](const RowGroup& a, const RowGroup& b) {
    return std::abs(a.weight) > std::abs(b.weight);
  });
  return groups;
}

// " · 2 of 9 selected"
std::string SelectedText(const RowGroup& group) {
  return absl::StrCat(" · ", group.selected, " of ", group.count, " selected");
}

std::string GroupTitle(const RowGroup& group, int width) {
  const std::string count = SelectedText(group);
  return CutMiddle(group.name.empty() ? "without group" : Printable(group.name),
                   width - DisplayWidth(count)) +
         count;
}

// The end of a line: "0.52      norm 1.3".
std::string NumbersText(double weight, double norm) {
  const std::string text = absl::StrFormat("%.3g", weight);
  return norm > 0 ? absl::StrCat(Pad(text, kNumberWidth), absl::StrFormat("norm %.3g", norm))
                  : text;
}

// The widths of the columns of names and bars.
struct GroupWidths {
  int name = 0;
  int bar = 0;
};

GroupWidths GroupWidthsOf(const GroupedRows& rows, const std::vector<RowGroup>& groups, int width) {
  const int numbers = 2 + kNumberWidth + (rows.norms.empty() ? 0 : kNormWidth);
  int widest = 0;
  for (const RowGroup& group : groups) {
    const std::string name = group.name.empty() ? "without group" : group.name;
    widest = std::max(widest, kGroupIndent + DisplayWidth(name + SelectedText(group)));
    for (const size_t row : group.shown) {
      widest = std::max(widest, kRowIndent + DisplayWidth(rows.names[row]));
    }
  }
  GroupWidths widths;
  widths.name = std::min(
      widest, std::max(kNarrowestGroupName + kRowIndent, width - numbers - kNarrowestGroupBar - 2));
  widths.bar = std::clamp(width - widths.name - numbers - 2, kNarrowestGroupBar, kWidestGroupBar);
  return widths;
}

std::string RestOfGroup(const RowGroup& group) {
  const size_t rest = group.count - group.shown.size();
  if (rest == 0 || group.shown.empty()) {
    return "";
  }
  return absl::StrCat(std::string(kRowIndent, ' '), rest, " more, ",
                      group.selected_rest > 0
                          ? absl::StrCat(group.selected_rest, " of them selected")
                          : "not selected",
                      "\n");
}

// Leaves the first `most` groups, and says what the others are.
std::string CutGroups(int most, std::vector<RowGroup>& groups) {
  const size_t kept = most > 0 ? std::min(groups.size(), static_cast<size_t>(most)) : groups.size();
  RowGroup rest;
  for (size_t g = kept; g < groups.size(); ++g) {
    rest.count += groups[g].count;
    rest.selected += groups[g].selected;
  }
  const size_t cut = groups.size() - kept;
  groups.resize(kept);
  return cut == 0 ? ""
                  : absl::StrCat("  ", cut, cut == 1 ? " more group" : " more groups",
                                 SelectedText(rest), "\n");
}

}  // namespace

std::string FormatGroups(const GroupedRows& rows, const Terminal& terminal, int most) {
  std::vector<RowGroup> groups = MakeGroups(rows, most);
  const std::string rest = CutGroups(most, groups);
  const GroupWidths widths = GroupWidthsOf(rows, groups, terminal.width);
  double largest = 1e-300;
  for (const RowGroup& group : groups) {
    largest = std::max(largest, std::abs(group.weight));
  }
  const auto bar = [&](double weight) { return Bar(std::abs(weight) / largest, widths.bar); };
  std::string text;
  for (const RowGroup& group : groups) {
    const std::string title =
        Pad(GroupTitle(group, widths.name - kGroupIndent), widths.name - kGroupIndent);
    absl::StrAppend(&text, "  ", Paint(terminal, Colour::kBold, title), "  ",
                    Paint(terminal, Colour::kDim, bar(group.weight)), " ",
                    NumbersText(group.weight, group.norm), "\n");
    for (const size_t row : group.shown) {
      const bool selected = IsSelected(rows, row);
      const std::string name =
          Pad(CutMiddle(rows.names[row], widths.name - kRowIndent), widths.name - kRowIndent);
      absl::StrAppend(&text, selected ? kSelected : kNotSelected,
                      selected ? name : Paint(terminal, Colour::kDim, name), "  ",
                      Paint(terminal, Colour::kGreen, bar(rows.weights[row])), " ",
                      NumbersText(rows.weights[row], rows.norms.empty() ? 0.0 : rows.norms[row]),
                      "\n");
    }
    absl::StrAppend(&text, RestOfGroup(group));
  }
  return text + rest;
}

}  // namespace mercer::client

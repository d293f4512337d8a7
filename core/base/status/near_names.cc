#include "core/base/status/near_names.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace mercer {
namespace {

constexpr size_t kMaxNames = 3;
constexpr int kMaxDistance = 2;
constexpr size_t kMaxKnown = 10'000;
constexpr size_t kMaxNameBytes = 100;

}  // namespace

// Row by row through the table of the distances from the beginnings of `a` to those of `b`.
int EditDistance(const std::string& a, const std::string& b) {
  std::vector<int> before_last(b.size() + 1);
  std::vector<int> last(b.size() + 1);
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (size_t i = 0; i < a.size(); ++i) {
    before_last.swap(last);
    last.swap(row);
    row[0] = static_cast<int>(i) + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      row[j + 1] = std::min({last[j] + (a[i] == b[j] ? 0 : 1), last[j + 1] + 1, row[j] + 1});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
        row[j + 1] = std::min(row[j + 1], before_last[j - 1] + 1);
      }
    }
  }
  return row.back();
}

std::vector<std::string> NearNames(const std::string& wrong,
                                   const std::vector<std::string>& known) {
  if (wrong.size() > kMaxNameBytes) {
    return {};
  }
  const size_t letters = wrong.size() - (wrong.find('/') + 1);  // of the part that people choose
  const int farthest = std::min(kMaxDistance, (static_cast<int>(letters) + 1) / 3);
  const std::string small = absl::AsciiStrToLower(wrong);
  std::vector<std::pair<int, std::string>> near;
  for (size_t i = 0; i < std::min(known.size(), kMaxKnown); ++i) {
    const std::string& name = known[i];
    const size_t longer = std::max(name.size(), wrong.size());
    const size_t shorter = std::min(name.size(), wrong.size());
    if (name == wrong || longer > kMaxNameBytes ||
        longer - shorter > static_cast<size_t>(farthest)) {
      continue;
    }
    const int distance = EditDistance(small, absl::AsciiStrToLower(name));
    if (distance <= farthest) {
      near.emplace_back(distance, name);
    }
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(near.size(), kMaxNames); ++i) {
    names.push_back(near[i].second);
  }
  return names;
}

std::string DidYouMean(const std::string& wrong, const std::vector<std::string>& known) {
  const std::vector<std::string> near = NearNames(wrong, known);
  return near.empty() ? "" : absl::StrCat("; did you mean '", absl::StrJoin(near, "' or '"), "'?");
}

}  // namespace mercer

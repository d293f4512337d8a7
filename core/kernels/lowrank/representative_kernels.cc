#include "core/kernels/lowrank/representative_kernels.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_source.h"

namespace mercer {
namespace {

constexpr double kLogRatioPerDecade = 0.065;
constexpr double kLeastTolerance = 12.5;  // -log10 of it: no width follows from others

// The key of a group: kernels that differ in nothing but their bandwidth and scaling have the same.
// Empty for a kernel that stands for itself.
std::string GroupKey(const KernelSpec& spec, const SourceFinder& finder) {
  if (!HasBandwidth(spec.type)) {
    return "";
  }
  const absl::StatusOr<KernelSource> source = finder.Find(spec);
  return source.ok() ? absl::StrCat(static_cast<int>(spec.type), " ", SourceKey(*source)) : "";
}

// Appends, of kernels in the order of their bandwidths, the first, the last, and as few as keep the
// ratio in between.
void AppendSpaced(const std::vector<KernelSpec>& kernels, const std::vector<Index>& ordered,
                  double log_ratio, std::vector<Index>& chosen) {
  const auto width = [&](size_t i) {
    return std::log(kernels[static_cast<size_t>(ordered[i])].bandwidth);
  };
  chosen.push_back(ordered.front());
  size_t last = 0;
  for (size_t i = 1; i < ordered.size(); ++i) {
    const bool end = i + 1 == ordered.size();
    if (end || width(i + 1) - width(last) > log_ratio) {
      chosen.push_back(ordered[i]);
      last = i;
    }
  }
}

}  // namespace

absl::StatusOr<std::vector<Index>> RepresentativeKernels(const std::vector<KernelSpec>& kernels,
                                                         const PreparedData& data, double tolerance,
                                                         const RunContext& context) {
  const SourceFinder finder(data);
  std::vector<Index> chosen;
  const double log_ratio =
      tolerance > 0 ? kLogRatioPerDecade * (kLeastTolerance + std::log10(tolerance)) : 0.0;
  std::map<std::string, std::vector<Index>> groups;
  PacedCheck check(context);
  for (size_t k = 0; k < kernels.size(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(kSourceWork));
    const std::string key = log_ratio > 0 ? GroupKey(kernels[k], finder) : "";
    if (key.empty()) {
      chosen.push_back(static_cast<Index>(k));
    } else {
      groups[key].push_back(static_cast<Index>(k));
    }
  }
  for (auto& [key, members] : groups) {
    std::stable_sort(members.begin(), members.end(), [&](Index a, Index b) {
      return kernels[static_cast<size_t>(a)].bandwidth < kernels[static_cast<size_t>(b)].bandwidth;
    });
    AppendSpaced(kernels, members, log_ratio, chosen);
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace mercer

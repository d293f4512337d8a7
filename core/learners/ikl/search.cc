#include "core/learners/ikl/search.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer::ikl {
namespace {

constexpr int kGridOfDecade = 16;
constexpr int kParts = 16;  // of a bracket
constexpr double kMesh = 1e-4;
constexpr size_t kMostBrackets = 4;

struct Value {
  double log_bandwidth;
  double energy;
};

absl::StatusOr<std::vector<Value>> Evaluate(const TaskData& task, std::vector<double> logs,
                                            const Vector& dual, RunContext& context) {
  std::vector<double> bandwidths;
  for (const double log : logs) {
    bandwidths.push_back(std::exp(log));
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeFamily(task, bandwidths, context));
  Matrix energies(static_cast<Index>(logs.size()), 1);
  MERCER_RETURN_IF_ERROR(family->QuadraticFormsForSearch(dual, {}, energies, context));
  std::vector<Value> values;
  for (size_t k = 0; k < logs.size(); ++k) {
    values.push_back({logs[k], energies(static_cast<Index>(k), 0)});
  }
  return values;
}

struct Bracket {
  double low;
  double high;
  double at;  // of the largest value inside
  double energy;
};

// Brackets around the local maxima of values in the order of their bandwidths; that of the largest
// maximum comes first.
std::vector<Bracket> Brackets(const std::vector<Value>& values) {
  std::vector<Bracket> brackets;
  for (size_t k = 0; k < values.size(); ++k) {
    const bool rises = k == 0 || values[k].energy >= values[k - 1].energy;
    const bool falls = k + 1 == values.size() || values[k].energy >= values[k + 1].energy;
    if (rises && falls) {
      brackets.push_back({values[k == 0 ? 0 : k - 1].log_bandwidth,
                          values[std::min(k + 1, values.size() - 1)].log_bandwidth,
                          values[k].log_bandwidth, values[k].energy});
    }
  }
  std::stable_sort(brackets.begin(), brackets.end(),
                   [](const Bracket& a, const Bracket& b) { return a.energy > b.energy; });
  brackets.resize(std::min(brackets.size(), kMostBrackets));
  return brackets;
}

// The points that divide each bracket into kParts equal parts, both ends included.
std::vector<double> Divide(const std::vector<Bracket>& brackets) {
  std::vector<double> logs;
  for (const Bracket& bracket : brackets) {
    for (int part = 0; part <= kParts; ++part) {
      logs.push_back(bracket.low + (bracket.high - bracket.low) * part / kParts);
    }
  }
  return logs;
}

}  // namespace

KernelSpec GaussianOf(double bandwidth) {
  KernelSpec spec;
  spec.type = KernelType::kGaussian;
  spec.bandwidth = bandwidth;
  return spec;
}

absl::StatusOr<std::unique_ptr<KernelFamily>> MakeFamily(const TaskData& task,
                                                         const std::vector<double>& bandwidths,
                                                         RunContext& context) {
  std::vector<KernelSpec> kernels;
  for (const double bandwidth : bandwidths) {
    kernels.push_back(GaussianOf(bandwidth));
  }
  return MakeExactKernelFamily(task.inputs, task.rows, std::move(kernels), context);
}

absl::StatusOr<std::vector<FoundBandwidth>> FindBandwidths(const TaskData& task,
                                                           const BandwidthInterval& interval,
                                                           const std::vector<double>& listed,
                                                           const Vector& dual,
                                                           RunContext& context) {
  const double low = std::log(interval.low);
  const double high = std::log(interval.high);
  const int cells =
      std::max(8, static_cast<int>(std::ceil((high - low) / std::log(10.0) * kGridOfDecade)));
  std::vector<double> logs;
  for (int cell = 0; cell <= cells; ++cell) {
    logs.push_back(low + (high - low) * cell / cells);
  }
  for (const double bandwidth : listed) {
    logs.push_back(std::log(bandwidth));
  }
  std::sort(logs.begin(), logs.end());
  logs.erase(
      std::unique(logs.begin(), logs.end(), [](double a, double b) { return b - a < kMesh; }),
      logs.end());
  MERCER_ASSIGN_OR_RETURN(std::vector<Value> values, Evaluate(task, logs, dual, context));
  std::vector<Bracket> brackets = Brackets(values);
  const auto is_wide = [](const Bracket& bracket) { return bracket.high - bracket.low > kMesh; };
  while (std::any_of(brackets.begin(), brackets.end(), is_wide)) {
    MERCER_ASSIGN_OR_RETURN(const std::vector<Value> inside,
                            Evaluate(task, Divide(brackets), dual, context));
    std::vector<Bracket> next;
    for (size_t b = 0; b < brackets.size(); ++b) {
      const auto begin = inside.begin() + static_cast<std::ptrdiff_t>(b * (kParts + 1));
      const std::vector<Bracket> of_bracket = Brackets({begin, begin + kParts + 1});
      next.push_back(of_bracket.front());
    }
    std::stable_sort(next.begin(), next.end(),
                     [](const Bracket& a, const Bracket& b) { return a.energy > b.energy; });
    brackets = std::move(next);
  }
  std::vector<FoundBandwidth> found;
  for (const Bracket& bracket : brackets) {
    found.push_back(
        {std::clamp(std::exp(bracket.at), interval.low, interval.high), bracket.energy});
  }
  return found;
}

}  // namespace mercer::ikl

#include "server/prediction/prediction_statistics.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"

namespace mercer::server {
namespace {

constexpr double kSmallest = 10;  // microseconds

// Upper bound of the class `i` in microseconds.
double UpperBound(size_t i) { return kSmallest * std::exp2(0.5 * static_cast<double>(i)); }

}  // namespace

void LatencyHistogram::Add(absl::Duration duration) {
  const double microseconds = std::max(absl::ToDoubleMicroseconds(duration), 0.0);
  const double position =
      microseconds <= kSmallest ? 0 : std::ceil(2 * std::log2(microseconds / kSmallest));
  const auto last = static_cast<double>(kClasses - 1);
  counts_[static_cast<size_t>(std::min(position, last))].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(static_cast<int64_t>(microseconds), std::memory_order_relaxed);
}

int64_t LatencyHistogram::count() const {
  int64_t total = 0;
  for (const std::atomic<int64_t>& count : counts_) {
    total += count.load(std::memory_order_relaxed);
  }
  return total;
}

absl::Duration LatencyHistogram::Quantile(double share) const {
  const int64_t total = count();
  if (total == 0) {
    return absl::ZeroDuration();
  }
  const auto rank = static_cast<int64_t>(std::ceil(share * static_cast<double>(total)));
  int64_t seen = 0;
  for (size_t i = 0; i < kClasses; ++i) {
    seen += counts_[i].load(std::memory_order_relaxed);
    if (seen >= std::max<int64_t>(rank, 1)) {
      return absl::Microseconds(UpperBound(i));
    }
  }
  return absl::Microseconds(UpperBound(kClasses - 1));
}

void PredictionStatistics::RecordCall(absl::StatusCode code, int64_t rows, absl::Duration latency,
                                      absl::Time now) {
  last_call_.store(absl::ToUnixMicros(now), std::memory_order_relaxed);
  if (code != absl::StatusCode::kOk) {
    failed_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  succeeded_.fetch_add(1, std::memory_order_relaxed);
  rows_.fetch_add(rows, std::memory_order_relaxed);
  latency_.Add(latency);
}

void PredictionStatistics::RecordBatch(int64_t calls) {
  batches_.fetch_add(1, std::memory_order_relaxed);
  if (calls > 1) {
    coalesced_.fetch_add(calls, std::memory_order_relaxed);
  }
}

std::shared_ptr<PredictionStatistics> PredictionStatisticsTable::Of(const std::string& model) {
  absl::MutexLock lock(&mutex_);
  if (const auto found = by_model_.find(model); found != by_model_.end()) {
    return found->second;
  }
  return by_model_[model] = std::make_shared<PredictionStatistics>(model);
}

void PredictionStatisticsTable::Remove(const std::string& name) {
  const std::string versions = name + "/";
  absl::MutexLock lock(&mutex_);
  for (auto next = by_model_.begin(); next != by_model_.end();) {
    const auto entry = next++;
    if (entry->first == name || absl::StartsWith(entry->first, versions)) {
      by_model_.erase(entry);
    }
  }
}

std::vector<std::shared_ptr<const PredictionStatistics>> PredictionStatisticsTable::All() const {
  std::vector<std::shared_ptr<const PredictionStatistics>> all;
  {
    absl::MutexLock lock(&mutex_);
    for (const auto& [model, statistics] : by_model_) {
      all.push_back(statistics);
    }
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a->model() < b->model(); });
  return all;
}

}  // namespace mercer::server

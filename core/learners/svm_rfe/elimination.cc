#include "core/learners/svm_rfe/elimination.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"

namespace mercer::svm_rfe {
namespace {

constexpr Index kColumnsAtOnce = 512;  // of a product

// The number of columns after a round with `count` > 1 of them.
Index NextCount(Schedule schedule, Index count) {
  switch (schedule) {
    case Schedule::kPowerOfTwo: {
      Index power = 1;
      while (2 * power < count) {
        power *= 2;
      }
      return power;
    }
    case Schedule::kHalfUp:
      return (count + 1) / 2;
    case Schedule::kOne:
      break;
  }
  return count - 1;
}

}  // namespace

absl::Status CheckOptions(const SvmRfeOptions& options, Index columns) {
  FieldViolations violations;
  violations.Check(options.columns <= columns, "columns",
                   absl::StrCat("is ", options.columns, "; the data have ", columns));
  double last = static_cast<double>(columns);
  for (const double count : options.counts) {
    if (count != std::floor(count) || !(count < last)) {
      violations.Add("counts",
                     absl::StrCat("must be whole numbers below the number of columns, ", columns,
                                  ", each less than the one before; ", count, " is not"));
      break;
    }
    last = count;
  }
  return violations.ToStatus();
}

std::vector<Index> CountsOf(const SvmRfeOptions& options, Index columns) {
  std::vector<Index> counts = {columns};
  for (const double count : options.counts) {
    counts.push_back(static_cast<Index>(count));
  }
  while (counts.back() > 1) {
    counts.push_back(options.counts.empty() ? NextCount(options.schedule, counts.back()) : 1);
  }
  return counts;
}

Index KeptColumns(const SvmRfeOptions& options, Index columns) {
  return options.columns > 0 ? options.columns : std::max<Index>(columns / 2, 1);
}

std::vector<Index> Ranking::Best(Index columns, Index count) const {
  std::vector<bool> gone(static_cast<size_t>(columns));
  for (Index place = 0; place < columns - count; ++place) {
    gone[static_cast<size_t>(removed[static_cast<size_t>(place)])] = true;
  }
  std::vector<Index> best;
  best.reserve(static_cast<size_t>(count));
  for (Index column = 0; column < columns; ++column) {
    if (!gone[static_cast<size_t>(column)]) {
      best.push_back(column);
    }
  }
  return best;
}

void Ranking::RemoveWorst(const std::vector<Index>& left, const Vector& criterion, Index count) {
  std::vector<Index> order = IndexRange(0, criterion.size());
  const auto is_worse = [&](Index a, Index b) {
    return criterion(a) != criterion(b) ? criterion(a) < criterion(b) : a < b;
  };
  const auto end = order.begin() + count;
  if (end != order.end()) {
    std::nth_element(order.begin(), end, order.end(), is_worse);
  }
  std::sort(order.begin(), end, is_worse);
  criteria.conservativeResize(criteria.size() + count);
  for (auto worst = order.begin(); worst != end; ++worst) {
    criteria(static_cast<Index>(removed.size())) = criterion(*worst);
    removed.push_back(left[static_cast<size_t>(*worst)]);
  }
}

ColumnGram::ColumnGram(const Matrix& columns)
    : columns_(columns),
      gram_(std::make_shared<Matrix>(columns.rows(), columns.rows())),
      kernel_(gram_) {}

absl::Status ColumnGram::Compute(const std::vector<Index>& of, RunContext& context) {
  constexpr Index kColumnsOfTask = 64;
  context.parallel().ForBlocks(gram_->cols(), kColumnsOfTask, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      gram_->middleCols(begin, end - begin).setZero();
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return Add(of, 1, context);
}

absl::Status ColumnGram::Remove(const std::vector<Index>& of, RunContext& context) {
  return Add(of, -1, context);
}

absl::Status ColumnGram::Add(const std::vector<Index>& of, double scale, RunContext& context) {
  const auto count = static_cast<Index>(of.size());
  for (Index first = 0; first < count; first += kColumnsAtOnce) {
    const Index width = std::min(kColumnsAtOnce, count - first);
    Matrix some(columns_.rows(), width);
    for (Index c = 0; c < width; ++c) {
      some.col(c) = columns_.col(of[static_cast<size_t>(first + c)]);
    }
    const Matrix transposed = some.transpose();
    MERCER_RETURN_IF_ERROR(AddProduct(scale, some, transposed, *gram_, context));
  }
  return absl::OkStatus();
}

}  // namespace mercer::svm_rfe

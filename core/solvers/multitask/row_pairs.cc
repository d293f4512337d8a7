#include "core/solvers/multitask/row_pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/linalg/row_operations.h"
#include "core/solvers/multitask/column_kernels.h"

namespace mercer {
namespace {

constexpr Index kTaskRows = 512;  // about 0.1 ms for 700 columns

// Of 1/2 curvature step^2 + slope step with a slope < 0; a pair without curvature goes all the way.
double BestStep(double slope, double curvature, double room) {
  return curvature * room > -slope ? -slope / curvature : room;
}

class ColumnPairs final : public RowPairs {
 public:
  ColumnPairs(const ColumnKernels& kernels, const Vector& weights) : kernels_(kernels) {
    const ColumnBlocks& blocks = kernels.blocks();
    for (Index c = 0; c < blocks.num_columns(); ++c) {
      if (weights(blocks.BlockOf(c)) > 0) {
        columns_.push_back(c);
        roots_.push_back(std::sqrt(weights(blocks.BlockOf(c))));
      }
    }
    stride_ = PaddedStride(static_cast<Index>(columns_.size()));
    difference_ = Vector::Zero(stride_);
  }

  absl::Status Gather(RunContext& context) {
    rows_ = Matrix::Zero(stride_, kernels_.size());
    for (size_t j = 0; j < columns_.size(); ++j) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      rows_.row(static_cast<Index>(j)) =
          roots_[j] * kernels_.Columns({&columns_[j], 1}).col(0).transpose();
    }
    return absl::OkStatus();
  }

  Index image_size() const override { return stride_; }

  absl::StatusOr<Vector> ImageOf(const Vector& dual, RunContext& context) const override {
    MERCER_ASSIGN_OR_RETURN(const Matrix sums, kernels_.Sums(dual, context));
    Vector image = Vector::Zero(stride_);
    for (size_t j = 0; j < columns_.size(); ++j) {
      image(static_cast<Index>(j)) = roots_[j] * sums(columns_[j], 0);
    }
    return image;
  }

  absl::StatusOr<Vector> ScoresOf(const Vector& image, RunContext& context) const override {
    Vector scores(rows_.cols());
    context.parallel().ForBlocks(rows_.cols(), kTaskRows, [&](Index begin, Index end) {
      for (Index i = begin; i < end && !context.cancelled(); ++i) {
        scores(i) = DotRow(rows_.col(i).data(), image.data(), stride_);
      }
    });
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    return scores;
  }

  absl::StatusOr<double> Descend(const RowPair& pair, Vector& image,
                                 RunContext& /*context*/) override {
    difference_ = rows_.col(pair.up) - rows_.col(pair.down);
    const double slope = DotRow(difference_.data(), image.data(), stride_) - pair.targets;
    if (!(slope < 0)) {
      return 0.0;
    }
    const double curvature = DotRow(difference_.data(), difference_.data(), stride_);
    const double step = BestStep(slope, curvature, pair.room);
    AddScaledRow(difference_.data(), step, stride_, image.data());
    return step;
  }

 private:
  const ColumnKernels& kernels_;
  std::vector<Index> columns_;  // in use
  std::vector<double> roots_;   // of the weights of their blocks
  Index stride_ = 0;
  Matrix rows_;        // z_i, followed by zeros
  Vector difference_;  // of the rows of a pair
};

class GramPairs final : public RowPairs {
 public:
  explicit GramPairs(std::unique_ptr<KernelOperator> kernel)
      : kernel_(std::move(kernel)), diagonal_(kernel_->size()), columns_(kernel_->size(), 2) {}

  absl::Status Gather(RunContext& context) { return kernel_->Diagonal(diagonal_, context); }

  Index image_size() const override { return kernel_->size(); }

  absl::StatusOr<Vector> ImageOf(const Vector& dual, RunContext& context) const override {
    Vector image(dual.size());
    MERCER_RETURN_IF_ERROR(kernel_->Apply(dual, image, context));
    return image;
  }

  absl::StatusOr<Vector> ScoresOf(const Vector& image, RunContext& /*context*/) const override {
    return image;
  }

  absl::StatusOr<double> Descend(const RowPair& pair, Vector& image, RunContext& context) override {
    const double slope = image(pair.up) - image(pair.down) - pair.targets;
    if (!(slope < 0)) {
      return 0.0;
    }
    const std::array<Index, 2> both = {pair.up, pair.down};
    MERCER_RETURN_IF_ERROR(kernel_->Columns(both, columns_, context));
    const double curvature =
        std::max(diagonal_(pair.up) + diagonal_(pair.down) - 2 * columns_(pair.down, 0), 0.0);
    const double step = BestStep(slope, curvature, pair.room);
    image += step * (columns_.col(0) - columns_.col(1));
    return step;
  }

 private:
  const std::unique_ptr<KernelOperator> kernel_;
  Vector diagonal_;
  Matrix columns_;  // of the rows of a pair
};

template <typename Pairs>
absl::StatusOr<std::unique_ptr<RowPairs>> Gathered(std::unique_ptr<Pairs> pairs,
                                                   RunContext& context) {
  MERCER_RETURN_IF_ERROR(pairs->Gather(context));
  return std::unique_ptr<RowPairs>(std::move(pairs));
}

}  // namespace

absl::StatusOr<std::unique_ptr<RowPairs>> MakeRowPairs(const KernelFamily& blocks,
                                                       const Vector& weights, RunContext& context) {
  if (const auto* columns = dynamic_cast<const ColumnKernels*>(&blocks); columns != nullptr) {
    return Gathered(std::make_unique<ColumnPairs>(*columns, weights), context);
  }
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<KernelOperator> kernel, blocks.Combine(weights, context));
  return Gathered(std::make_unique<GramPairs>(std::move(kernel)), context);
}

}  // namespace mercer

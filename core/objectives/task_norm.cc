#include "core/objectives/task_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/objectives/block_penalty.h"

namespace mercer {
namespace {

constexpr double kLeastRoot = 1e-12;  // of an energy, against the largest one, under powers below 0

bool IsExponent(double exponent) { return exponent >= 1 && std::isfinite(exponent); }

Matrix RootsOf(const ConstMatrixRef& energies) { return energies.cwiseMax(0.0).cwiseSqrt(); }

Vector NormsOfColumns(const ConstMatrixRef& values, double exponent) {
  Vector norms(values.cols());
  for (Index k = 0; k < values.cols(); ++k) {
    norms(k) = VectorNorm(values.col(k), exponent);
  }
  return norms;
}

// (part / whole)^power of parts that are at most the whole; 1 for a power of 0.
double PowerOfShare(double part, double whole, double power) {
  if (power == 0) {
    return 1;
  }
  return whole > 0 ? std::pow(part / whole, power) : 0;
}

}  // namespace

absl::StatusOr<TaskNorm> TaskNorm::Make(TaskNormForm form, double p, double q,
                                        Vector block_weights) {
  if (!IsExponent(p) || !IsExponent(q)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the exponents p and q must be at least 1 and finite, are ", p, " and ", q));
  }
  if (form == TaskNormForm::kPlain && (p != 1 || q != 2)) {
    return absl::InvalidArgumentError("the plain form is for p = 1 and q = 2");
  }
  for (Index k = 0; k < block_weights.size(); ++k) {
    if (!(block_weights(k) > 0) || !std::isfinite(block_weights(k))) {
      return absl::InvalidArgumentError(
          absl::StrCat("the weight of block ", k + 1, " must be > 0, is ", block_weights(k)));
    }
  }
  TaskNorm norm;
  norm.form_ = form;
  norm.p_ = p;
  norm.q_ = q;
  norm.block_weights_ = std::move(block_weights);
  return norm;
}

TaskNorm TaskNorm::OfGroups(std::shared_ptr<const MixedNorm> groups) {
  TaskNorm norm;
  norm.groups_ = std::move(groups);
  return norm;
}

bool TaskNorm::Fits(Index num_blocks) const {
  const bool weights = block_weights_.size() == 0 || block_weights_.size() == num_blocks;
  return weights && (groups_ == nullptr ||
                     static_cast<Index>(groups_->groups().group_of.size()) == num_blocks);
}

Vector TaskNorm::BlockWeights(Index num_blocks) const {
  return block_weights_.size() > 0 ? block_weights_ : Vector(Vector::Ones(num_blocks));
}

Vector TaskNorm::JointNorms(const ConstMatrixRef& norms) const { return NormsOfColumns(norms, q_); }

double TaskNorm::Penalty(const ConstMatrixRef& norms) const {
  if (groups_ != nullptr) {
    return groups_->HalfSquaredNorm(JointNorms(norms));
  }
  const Vector joint = JointNorms(norms).cwiseProduct(BlockWeights(norms.cols()));
  const double norm = VectorNorm(joint, p_);
  return form_ == TaskNormForm::kPlain ? norm : 0.5 * norm * norm;
}

double TaskNorm::DualNorm(const ConstMatrixRef& energies) const {
  const Vector joint = NormsOfColumns(RootsOf(energies), ConjugateExponent(q_));
  if (groups_ != nullptr) {
    return std::sqrt(groups_->Support(joint.cwiseAbs2()));
  }
  return VectorNorm(joint.cwiseQuotient(BlockWeights(energies.cols())), ConjugateExponent(p_));
}

double TaskNorm::DualValue(double linear, double dual_norm) const {
  if (form_ == TaskNormForm::kPlain) {
    return dual_norm > 1 ? linear / dual_norm : linear;
  }
  const double square = dual_norm * dual_norm;
  if (!std::isfinite(square)) {
    return 0;  // of the dual 0
  }
  const double scale = linear < square ? linear / square : 1.0;
  return scale * linear - 0.5 * scale * scale * square;
}

Matrix TaskNorm::FirstWeights(Index num_tasks, Index num_blocks) const {
  const auto blocks = static_cast<double>(num_blocks);
  const double of_block = p_ < 2 ? std::pow(blocks, -(2 - p_) / p_) : 1;
  const double of_task = q_ < 2 ? std::pow(static_cast<double>(num_tasks), -(2 - q_) / q_) : 1;
  const Vector weights = BlockWeights(num_blocks).array().square().inverse() * of_block * of_task;
  return weights.transpose().replicate(num_tasks, 1);
}

Matrix TaskNorm::NextWeights(const ConstMatrixRef& norms, const ConstMatrixRef& energies) const {
  const Index blocks = norms.cols();
  const Vector beta = BlockWeights(blocks);
  const double q_dual = ConjugateExponent(q_);
  const double p_dual = ConjugateExponent(p_);
  const Matrix roots = RootsOf(energies);
  const Matrix floored = roots.cwiseMax(kLeastRoot * roots.maxCoeff());
  const Vector of_norms = JointNorms(norms);
  const Vector of_roots = NormsOfColumns(floored, q_dual);
  const Vector weighted = of_norms.cwiseProduct(beta);
  const Vector divided = of_roots.cwiseQuotient(beta);
  const double norm = VectorNorm(weighted, p_);
  const double dual_norm = VectorNorm(divided, p_dual);
  Matrix weights(norms.rows(), blocks);
  for (Index k = 0; k < blocks; ++k) {
    const double of_block = form_ == TaskNormForm::kPlain ? weighted(k)
                            : p_ <= 2                     ? PowerOfShare(weighted(k), norm, 2 - p_)
                                      : PowerOfShare(divided(k), dual_norm, p_dual - 2);
    for (Index t = 0; t < norms.rows(); ++t) {
      const double of_task = q_ <= 2 ? PowerOfShare(norms(t, k), of_norms(k), 2 - q_)
                                     : PowerOfShare(floored(t, k), of_roots(k), q_dual - 2);
      weights(t, k) = of_block * of_task / (beta(k) * beta(k));
    }
  }
  return weights;
}

absl::StatusOr<ConcaveTaskNorm> ConcaveTaskNorm::Make(TaskNormForm form, double p,
                                                      double smoothing) {
  if (!(p > 0 && p < 1)) {
    return absl::InvalidArgumentError(absl::StrCat("p must be between 0 and 1, is ", p));
  }
  if (!(smoothing > 0) || !std::isfinite(smoothing)) {
    return absl::InvalidArgumentError(absl::StrCat("the smoothing must be > 0, is ", smoothing));
  }
  return ConcaveTaskNorm(form, p, smoothing);
}

// Each term as smoothing^p ((1 + v / smoothing)^p - 1), whose digits small norms do not cancel.
double ConcaveTaskNorm::Sum(const ConstVectorRef& joint_norms) const {
  double sum = 0;
  for (const double v : joint_norms) {
    sum += std::expm1(p_ * std::log1p(v / smoothing_));
  }
  return std::pow(smoothing_, p_) * sum;
}

double ConcaveTaskNorm::Penalty(const ConstVectorRef& joint_norms) const {
  const double sum = Sum(joint_norms);
  return form_ == TaskNormForm::kPlain ? sum : 0.5 * sum * sum;
}

TaskNorm ConcaveTaskNorm::Majorizer(const ConstVectorRef& joint_norms) const {
  Vector beta = p_ * (joint_norms.array() + smoothing_).pow(p_ - 1);
  const double sum = Sum(joint_norms);
  if (form_ == TaskNormForm::kSquared && sum > 0) {
    beta /= std::sqrt(beta.dot(joint_norms) / sum);
  }
  TaskNorm bound;
  bound.form_ = form_;
  bound.block_weights_ = std::move(beta);
  return bound;
}

}  // namespace mercer

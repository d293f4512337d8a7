#include "core/objectives/mixed_norm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Eigenvalues>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kLeavesModel = 0.98;  // of the largest energy of a group
constexpr double kLeastInner = 1e-14;
constexpr double kLongestPower = 2;
constexpr double kEntering = 1e-2;    // against the largest inner weight
constexpr double kLargestChange = 5;  // of an outer weight
constexpr double kEigenvalueFloor = 1e-12;

// Marks all but the `kept` largest values among `places`.
std::vector<Index> SmallestOf(std::vector<Index> places, const Vector& values, size_t kept) {
  if (places.size() <= kept) {
    return {};
  }
  std::sort(places.begin(), places.end(), [&](Index a, Index b) {
    return values(a) != values(b) ? values(a) > values(b) : a < b;
  });
  places.erase(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(kept));
  return places;
}

// The model as a function of inner and outer weights of its kernels and of all groups.
struct SaddleModel {
  Vector inner_slope;
  Vector outer_slope;
  Matrix inner_hessian;
  Matrix mixed_hessian;  // inner x outer
  Matrix outer_hessian;  // negative semidefinite
};

// weights(k) = inner(k) / outer(j): chain rule, with s(k) = 1 / outer(j) and the derivative
// T(k, j) = -inner(k) / outer(j)^2 of the weights by outer weights.
SaddleModel SaddleOf(const WeightModel& model, const SimplexGroups& groups,
                     const MixedWeights& at) {
  const Index m = model.energies.size();
  const Index n = groups.num_groups;
  Vector s(m);
  Matrix T = Matrix::Zero(m, n);
  Matrix direct = Matrix::Zero(m, n);
  Vector energy_of_group = Vector::Zero(n);
  for (Index k = 0; k < m; ++k) {
    const Index j = groups.group_of[static_cast<size_t>(k)];
    s(k) = 1.0 / at.outer(j);
    T(k, j) = -at.inner(k) * s(k) * s(k);
    direct(k, j) = 0.5 * model.energies(k) * s(k) * s(k);
    energy_of_group(j) += at.inner(k) * model.energies(k);
  }
  SaddleModel saddle;
  saddle.inner_slope = -0.5 * model.energies.cwiseProduct(s);
  saddle.outer_slope = 0.5 * energy_of_group.cwiseQuotient(at.outer.cwiseAbs2());
  const Matrix turned = model.hessian * T;
  saddle.inner_hessian = s.asDiagonal() * model.hessian * s.asDiagonal();
  saddle.mixed_hessian = direct + s.asDiagonal() * turned;
  saddle.outer_hessian = T.transpose() * turned;
  saddle.outer_hessian.diagonal() -=
      energy_of_group.cwiseQuotient(at.outer.cwiseProduct(at.outer.cwiseAbs2()));
  return saddle;
}

// N = Z (-Z'H Z)^-1 Z' for the outer Hessian H and a basis Z of the changes of sum 0 of the free
// groups; eigenvalues are floored.
Matrix OuterInverse(const Matrix& outer_hessian, const std::vector<Index>& free) {
  const Index n = outer_hessian.rows();
  const auto count = static_cast<Index>(free.size());
  if (count < 2) {
    return Matrix::Zero(n, n);
  }
  Matrix Z = Matrix::Zero(n, count - 1);
  for (Index j = 0; j + 1 < count; ++j) {
    Z(free[static_cast<size_t>(j)], j) = 1;
    Z(free.back(), j) = -1;
  }
  const Matrix reduced = -(Z.transpose() * outer_hessian * Z);
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(0.5 * (reduced + reduced.transpose()));
  const double largest = eigen.eigenvalues().maxCoeff();
  if (eigen.info() != Eigen::Success || !(largest > 0)) {
    return Matrix::Zero(n, n);
  }
  const Vector inverse = eigen.eigenvalues().cwiseMax(kEigenvalueFloor * largest).cwiseInverse();
  const Matrix basis = Z * eigen.eigenvectors();
  return basis * inverse.asDiagonal() * basis.transpose();
}

}  // namespace

double GroupFloor(double relative_gap, Index num_groups) {
  return std::min(0.5 * relative_gap, 0.1 / static_cast<double>(num_groups));
}

MixedNorm::MixedNorm(SimplexGroups groups, double floor, double relative_gap)
    : groups_(std::move(groups)),
      floor_(floor),
      comes_back_(1.0 + std::max(1e-3 * relative_gap, 1e-12)),
      sizes_(SumsOf(Vector::Ones(static_cast<Index>(groups_.group_of.size())))) {}

Vector MixedNorm::SumsOf(ConstVectorRef values) const {
  Vector sums = Vector::Zero(groups_.num_groups);
  for (Index k = 0; k < values.size(); ++k) {
    sums(GroupOf(k)) += values(k);
  }
  return sums;
}

Vector MixedNorm::LargestOf(ConstVectorRef values) const {
  Vector largest = Vector::Zero(groups_.num_groups);
  for (Index k = 0; k < values.size(); ++k) {
    largest(GroupOf(k)) = std::max(largest(GroupOf(k)), values(k));
  }
  return largest;
}

Index MixedNorm::FirstOfGroup() const {
  // Of more groups than half the kernels of a model one kernel each leaves room for others.
  const Index n = groups_.num_groups;
  const Index least = 2 * n > static_cast<Index>(kMaxModelKernels) ? 1 : 2;
  return std::max<Index>(least, std::min<Index>(20, 30 / n));
}

Index MixedNorm::AddedToGroup() const {
  const Index n = groups_.num_groups;
  return std::min(std::max<Index>(5, 20 / n), std::max<Index>(1, 100 / n));
}

Vector MixedNorm::Uniform() const {
  const auto kernels = static_cast<Index>(groups_.group_of.size());
  return Combined(Vector::Ones(kernels), Vector::Ones(groups_.num_groups));
}

// Of weights of the set the sum of a group is 1 / outer.
MixedWeights MixedNorm::Split(const Vector& weights) const {
  const Vector sums = SumsOf(weights);
  MixedWeights parts{Vector(weights.size()), Vector()};
  for (Index k = 0; k < weights.size(); ++k) {
    const Index j = GroupOf(k);
    parts.inner(k) = sums(j) > 0 ? weights(k) / sums(j) : 1.0 / sizes_(j);
  }
  parts.outer = OuterOf((sums.array() > 0).select(sums.cwiseInverse(), 0.0));
  return parts;
}

Vector MixedNorm::Combined(const MixedWeights& parts) const {
  Vector weights = parts.inner;
  for (Index k = 0; k < weights.size(); ++k) {
    weights(k) /= parts.outer(GroupOf(k));
  }
  return weights;
}

Vector MixedNorm::Combined(const Vector& inner, const Vector& shares) const {
  const Vector sums = SumsOf(inner);
  MixedWeights parts{inner, OuterOf(shares)};
  for (Index k = 0; k < inner.size(); ++k) {
    const double sum = sums(GroupOf(k));
    parts.inner(k) = sum > 0 ? inner(k) / sum : 1.0 / sizes_(GroupOf(k));
  }
  return Combined(parts);
}

// outer(j) = max(floor, nu shares(j)), where nu makes the sum 1: groups below the floor are pinned
// to it and the others rescaled, until none is.
Vector MixedNorm::OuterOf(const Vector& shares) const {
  const Index n = groups_.num_groups;
  if (!(shares.maxCoeff() > 0) || !shares.allFinite()) {
    return Vector::Constant(n, 1.0 / static_cast<double>(n));
  }
  Vector outer = Vector::Constant(n, floor_);
  std::vector<bool> pinned(static_cast<size_t>(n), false);
  for (bool changed = true; changed;) {
    changed = false;
    double free = 1;
    double total = 0;
    for (Index j = 0; j < n; ++j) {
      if (pinned[static_cast<size_t>(j)]) {
        free -= floor_;
      } else {
        total += shares(j);
      }
    }
    for (Index j = 0; j < n; ++j) {
      if (pinned[static_cast<size_t>(j)]) {
        continue;
      }
      outer(j) = free * (shares(j) / total);
      if (outer(j) < floor_) {
        outer(j) = floor_;
        pinned[static_cast<size_t>(j)] = true;
        changed = true;
      }
    }
  }
  return outer;
}

Vector MixedNorm::SharesOf(const MixedWeights& parts, const Vector& energies) const {
  return SumsOf(parts.inner.cwiseProduct(energies.cwiseMax(0.0))).cwiseSqrt();
}

Vector MixedNorm::Thresholded(const Vector& weights, double threshold) const {
  const Vector largest = LargestOf(weights);
  Vector kept = weights;
  for (Index k = 0; k < kept.size(); ++k) {
    if (kept(k) < threshold * largest(GroupOf(k))) {
      kept(k) = 0;
    }
  }
  return kept == weights ? weights : Combined(kept, Split(weights).outer);
}

double MixedNorm::HalfSquaredNorm(ConstVectorRef norms) const {
  const double largest = SumsOf(norms).maxCoeff();
  return 0.5 * largest * largest;
}

double MixedNorm::Support(ConstVectorRef energies) const {
  const double sum = LargestOf(energies).cwiseSqrt().sum();
  return sum * sum;
}

bool MixedNorm::is_sparse() const { return sizes_.maxCoeff() > 1; }

Vector MixedNorm::Normalized(const Vector& weights) const { return Combined(Split(weights)); }

// Energies are taken against the largest one of a group among its kernels with weights, whose entry
// stays: a kernel without a weight says nothing about the others.
Vector MixedNorm::Multiplied(const MixedWeights& parts, const Vector& energies,
                             double power) const {
  const Vector largest =
      LargestOf((parts.inner.array() > 0).select(energies.cwiseMax(0.0), 0.0).matrix());
  Vector inner = parts.inner;
  for (Index k = 0; k < inner.size(); ++k) {
    const double of_group = largest(GroupOf(k));
    if (of_group > 0) {
      inner(k) *= std::pow(std::max(energies(k), 0.0) / of_group, power);
    }
  }
  const Vector sums = SumsOf(inner);
  for (Index k = 0; k < inner.size(); ++k) {
    inner(k) /= sums(GroupOf(k));
    if (inner(k) < kLeastInner) {
      inner(k) = 0;
    }
  }
  return inner;
}

void MixedNorm::Enter(const Vector& weights, const Vector& energies, Vector& inner) const {
  const Vector largest = LargestOf(inner);
  for (const Index k : Candidates(weights, energies)) {
    if (weights(k) == 0) {
      inner(k) = kEntering * largest(GroupOf(k));
    }
  }
}

Vector MixedNorm::ClosedForm(const Vector& weights, const Vector& energies) const {
  const MixedWeights parts = Split(weights);
  Vector inner = Multiplied(parts, energies, 0.5);
  if (has_maximisers()) {
    Enter(weights, energies, inner);
  }
  return Combined(inner, SharesOf(parts, energies));
}

Vector MixedNorm::OverRelaxed(const Vector& weights, const Vector& energies) const {
  return Relaxed(weights, energies, kLongestPower);
}

Vector MixedNorm::Relaxed(const Vector& weights, const Vector& energies, double power) const {
  const MixedWeights parts = Split(weights);
  Vector inner = Multiplied(parts, energies, power);
  if (power >= kLongestPower) {
    const Vector largest = LargestOf(energies);
    std::vector<std::vector<Index>> active(static_cast<size_t>(groups_.num_groups));
    for (Index k = 0; k < weights.size(); ++k) {
      if (inner(k) > 0) {
        active[static_cast<size_t>(GroupOf(k))].push_back(k);
      }
    }
    for (const std::vector<Index>& of_group : active) {
      for (const Index k : SmallestOf(of_group, energies, static_cast<size_t>(FirstOfGroup()))) {
        if (energies(k) < kLeavesModel * largest(GroupOf(k))) {
          inner(k) = 0;
        }
      }
    }
  }
  Enter(weights, energies, inner);
  return Combined(inner, SharesOf(parts, energies));
}

std::vector<Index> MixedNorm::Candidates(const Vector& weights, const Vector& energies) const {
  const Vector active =
      LargestOf((weights.array() > 0).select(energies.cwiseMax(0.0), 0.0).matrix());
  std::vector<std::vector<Index>> above(static_cast<size_t>(groups_.num_groups));
  std::vector<bool> chosen(static_cast<size_t>(weights.size()), false);
  for (Index k = 0; k < weights.size(); ++k) {
    if (weights(k) > 0) {
      chosen[static_cast<size_t>(k)] = true;
    } else if (energies(k) > comes_back_ * active(GroupOf(k))) {
      chosen[static_cast<size_t>(k)] = true;
      above[static_cast<size_t>(GroupOf(k))].push_back(k);
    }
  }
  for (const std::vector<Index>& of_group : above) {
    for (const Index k : SmallestOf(of_group, energies, static_cast<size_t>(AddedToGroup()))) {
      chosen[static_cast<size_t>(k)] = false;
    }
  }
  // Of all groups those whose energies are furthest above, as many as a model has room for.
  Vector excess = Vector::Zero(weights.size());
  std::vector<Index> entering;
  for (Index k = 0; k < weights.size(); ++k) {
    if (chosen[static_cast<size_t>(k)] && weights(k) == 0) {
      excess(k) = energies(k) / std::max(active(GroupOf(k)), 1e-300);
      entering.push_back(k);
    }
  }
  const auto in_use = static_cast<size_t>((weights.array() > 0).count());
  if (in_use < kMaxModelKernels) {
    for (const Index k : SmallestOf(entering, excess, kMaxModelKernels - in_use)) {
      chosen[static_cast<size_t>(k)] = false;
    }
  }
  std::vector<Index> candidates;
  for (Index k = 0; k < weights.size(); ++k) {
    if (chosen[static_cast<size_t>(k)]) {
      candidates.push_back(k);
    }
  }
  return candidates;
}

// Whether the group is kept at the floor: its outer weight is there, and would be below without it.
bool MixedNorm::IsAtFloor(const MixedWeights& parts, const Vector& energies, Index group) const {
  const Vector shares = SharesOf(parts, energies);
  return parts.outer(group) <= 1.001 * floor_ && shares(group) <= floor_ * shares.sum();
}

absl::StatusOr<std::optional<Vector>> MixedNorm::SolveModel(const WeightModel& model,
                                                            const std::vector<Index>& candidates,
                                                            const RunContext& context) const {
  const auto m = static_cast<Index>(candidates.size());
  Vector all_weights = Vector::Zero(static_cast<Index>(groups_.group_of.size()));
  Vector all_energies = all_weights;
  all_weights(candidates) = model.start;
  all_energies(candidates) = model.energies;
  const MixedWeights all = Split(all_weights);
  MixedWeights at{all.inner(candidates), all.outer};
  SimplexGroups groups{{}, groups_.num_groups};
  for (const Index k : candidates) {
    groups.group_of.push_back(GroupOf(k));
  }
  const SaddleModel saddle = SaddleOf(model, groups, at);
  std::vector<Index> free;
  for (Index j = 0; j < groups_.num_groups; ++j) {
    if (!IsAtFloor(all, all_energies, j)) {
      free.push_back(j);
    }
  }
  const Matrix inverse = OuterInverse(saddle.outer_hessian, free);
  const Matrix turned = saddle.mixed_hessian * inverse;
  SimplexProgram program{at.inner, saddle.inner_slope + turned * saddle.outer_slope,
                         saddle.inner_hessian + turned * saddle.mixed_hessian.transpose()};
  program.hessian = (0.5 * (program.hessian + program.hessian.transpose())).eval();
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> inner,
                          MinimizeOnSimplices(program, groups, context));
  if (!inner.has_value()) {
    return std::optional<Vector>();
  }
  const Vector change =
      inverse * (saddle.outer_slope + saddle.mixed_hessian.transpose() * (*inner - at.inner));
  const Vector outer =
      (at.outer + change).cwiseMax(at.outer / kLargestChange).cwiseMin(at.outer * kLargestChange);
  if (!outer.allFinite()) {
    return std::optional<Vector>();
  }
  all_weights(candidates) = *inner;
  const Vector weights = Combined(all_weights, outer);
  Vector of_candidates(m);
  of_candidates = weights(candidates);
  return std::optional<Vector>(std::move(of_candidates));
}

}  // namespace mercer

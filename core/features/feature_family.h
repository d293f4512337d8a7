// Families of feature functions: a group of functions for each value of continuous parameters (a
// frequency, a filter), or for each column of the data. A learner draws candidates from a family,
// keeps the few that pay, and evaluates those on new rows (docs/mathematics/infinite_features.md,
// section 4).
//
//   auto family = MakeFeatureFamily(spec, num_inputs);  // feature_family_spec.h
//   const std::vector<FeatureParameters> candidates = *(*family)->Draw(seed, round, context);
//   const std::unique_ptr<const FeatureMap> map = (*family)->Bind(candidates);
//   map->Evaluate(rows, out);  // for each chunk of rows
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

using SingleMatrix = Eigen::MatrixXf;
using SingleMatrixRef = Eigen::Ref<SingleMatrix>;

// What one group of a family is given by; the numbers are named by
// FeatureFamily::parameter_names().
using FeatureParameters = std::vector<double>;

// The columns of some groups as functions of a row of inputs: group by group, the columns of a
// group side by side. Immutable, safe for concurrent use.
//
// A row's values have the same bits whatever the rows beside it, its place among them, and the
// other groups. A value that cannot be computed (the input of a sine beyond 1e8, where it has no
// digits left; inputs that are not finite) is NaN.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;

  virtual Index num_inputs() const = 0;
  virtual Index num_columns() const = 0;
  // out(i, c) = column c at row i; out is rows.rows() x num_columns(). The values in single
  // precision are those of the search for candidates: cosines and sines with an error of at most
  // 1e-7, Gabor features with the rounding errors of a product in single precision, columns
  // rounded.
  virtual void Evaluate(ConstRowMatrixRef rows, MatrixRef out) const = 0;
  virtual void Evaluate(ConstRowMatrixRef rows, SingleMatrixRef out) const = 0;
};

// How the groups of a family that is smooth in its parameters are moved. Immutable, safe for
// concurrent use.
class FeatureMotion {
 public:
  virtual ~FeatureMotion() = default;

  // The derivatives, in what is moved, of the sum over the rows i and columns c of
  // coefficients(i, c) times column c at row i; `values` are the columns there.
  virtual Vector Derivative(ConstRowMatrixRef rows, ConstMatrixRef values,
                            ConstMatrixRef coefficients) const = 0;
  // The numbers of a group that are moved.
  virtual Vector Place(const FeatureParameters& group) const = 0;
  // The group of the family that is nearest to the place `group` has, moved by `change`.
  virtual FeatureParameters Moved(const FeatureParameters& group, const Vector& change) const = 0;
};

// Immutable, safe for concurrent use.
class FeatureFamily {
 public:
  virtual ~FeatureFamily() = default;

  virtual std::string_view name() const = 0;
  virtual Index num_inputs() const = 0;
  virtual Index columns_per_group() const = 0;
  // One name for each of a group's parameters: "bandwidth", "frequency_1", ...
  virtual std::vector<std::string> parameter_names() const = 0;

  // The candidates of a round: a function of the seed, the round and the candidate's place alone.
  // More candidates per round do not change those that were there (with several bandwidths: those
  // of each bandwidth). Errors: kCancelled.
  virtual absl::StatusOr<std::vector<FeatureParameters>> Draw(uint64_t seed, uint64_t round,
                                                              const RunContext& context) const = 0;
  // Whether each round draws the whole family, so that "no candidate is missing" can be proved.
  virtual bool is_finite() const = 0;
  // Whether values rounded to single precision are good enough to search with: not for columns of
  // the data, which may have any offset and range.
  virtual bool searches_in_single() const = 0;

  // Checks the parameters of a stored model's group. Errors: kInvalidArgument when the family has
  // no such group.
  virtual absl::Status CheckParameters(absl::Span<const double> parameters) const = 0;
  // The columns of `groups`, whose parameters are as CheckParameters wants them.
  virtual std::unique_ptr<const FeatureMap> Bind(
      absl::Span<const FeatureParameters> groups) const = 0;
  // Null where groups are not moved.
  virtual const FeatureMotion* motion() const = 0;
  // About how many multiplications a row takes for each group: callers cut their work into pieces
  // by it.
  virtual Index work_per_row() const = 0;
};

// The same family with nothing to draw but `groups`, each round all of them: features fixed in
// advance, or drawn once. Errors: kInvalidArgument for no group, or parameters that the family
// refuses.
absl::StatusOr<std::shared_ptr<const FeatureFamily>> MakeDictionary(
    std::shared_ptr<const FeatureFamily> family, std::vector<FeatureParameters> groups);

}  // namespace mercer

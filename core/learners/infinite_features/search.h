// One round of the search: which candidates break the conditions of optimality most.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/features/candidate_scan.h"
#include "core/features/feature_family.h"
#include "core/features/feature_rows.h"
#include "core/features/normalization.h"
#include "core/objectives/block_penalty.h"

namespace mercer::infinite_features {

// A group of features with what its columns are made by: (raw column - mean) / scale. Both are
// columns x tables of rows: one for all outputs, or one for each task.
struct ScaledGroup {
  FeatureParameters parameters;
  Matrix means;
  Matrix scales;

  // The means follow from the parameters.
  static void VisitFields(auto& visit, auto& self) { visit(self.parameters, self.scales); }
};

// The columns of candidates that every round searches anew, by tables of rows: the first round
// evaluates them. They are not saved.
struct StoredCandidates {
  std::vector<SingleMatrix> tables;
};
// Candidates whose columns take more are evaluated in every round.
inline constexpr size_t kMaxStoredCandidateBytes = size_t{256} << 20;
inline ByteCount StoredCandidateBytes(Index rows, Index columns) {
  return ByteCount(rows) * ByteCount(columns) * ByteCount(sizeof(float));
}

struct SearchProblem {
  const FeatureFamily* family = nullptr;
  std::vector<const FeatureRows*> tables;
  FeatureNormalization normalization = FeatureNormalization::kColumn;
  ScaleScope scope = ScaleScope::kPerTask;
  BlockNorm norm;
  std::function<double(const FeatureParameters&)> weight;  // of a group's penalty; > 0
  // For a family that draws the same candidates in every round and is searched in single precision; else null.
  StoredCandidates* stored = nullptr;
};

// Weights of the penalties of the part of each output and of the part that all share; infinity
// leaves a part out.
struct Lambdas {
  double specific = kInfinity;
  double shared = kInfinity;

  static void VisitFields(auto& visit, auto& self) { visit(self.specific, self.shared); }
};

// A candidate and the dual norms of the products of its scaled columns with the slopes, divided by
// its weight: one above its lambda says that the candidate lowers the objective.
struct FoundGroup {
  FeatureParameters parameters;
  double specific_norm = 0;
  double shared_norm = 0;

  // How much it breaks the conditions of optimality: above 1 it lowers the objective.
  double Ratio(const Lambdas& lambdas) const;
};

struct SearchRound {
  std::vector<FoundGroup> found;  // that can be used, in the order in which they were drawn
  Index candidates = 0;           // that were drawn

  // The least lambdas at which none of them lowers the objective.
  Lambdas Largest() const;
  // The largest ratio; 0 without candidates.
  double BestRatio(const Lambdas& lambdas) const;
  // At most `count` of them whose ratio is above `least`, by falling ratio; of equal ones that
  // drawn first.
  std::vector<FoundGroup> Best(const Lambdas& lambdas, double least, Index count) const;
};

// Those of the candidates that are not in `known`, as SearchCandidates looks at them.
absl::StatusOr<SearchRound> SearchAmong(const SearchProblem& problem,
                                        std::vector<FeatureParameters> candidates,
                                        const std::vector<Matrix>& slopes,
                                        const std::vector<ScaledGroup>& known,
                                        const RunContext& context);
// The candidates of a round that are not in `known`. slopes: of each table rows x its outputs, the
// derivatives of the loss in the scores. Errors: kCancelled.
absl::StatusOr<SearchRound> SearchCandidates(const SearchProblem& problem, uint64_t seed,
                                             uint64_t round, const std::vector<Matrix>& slopes,
                                             const std::vector<ScaledGroup>& known,
                                             const RunContext& context);

}  // namespace mercer::infinite_features

// Moves a candidate uphill: to features of the family near it that break the conditions of
// optimality more.
#pragma once

#include "core/learners/infinite_features/options.h"
#include "core/learners/infinite_features/search.h"

namespace mercer::infinite_features {

// `from`, or what at most `steps` steps along conjugate gradients of the product with the slopes
// (Polak and Ribiere) make of it; each raises its ratio. slopes: as SearchCandidates has them.
// A family whose groups are not moved has no steps. Errors: kCancelled.
absl::StatusOr<FoundGroup> Ascend(const SearchProblem& problem, FoundGroup from, int64_t steps,
                                  const Lambdas& lambdas, const std::vector<Matrix>& slopes,
                                  const RunContext& context);

// About how many candidates the ascent of a round evaluates, gradients counted as some.
int64_t CandidatesOfAscent(const InfiniteFeaturesOptions& options);

}  // namespace mercer::infinite_features

// What a model tells of the columns: their ranking.
#pragma once

#include <string>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/base/status/byte_count.h"
#include "core/learners/svm_rfe/elimination.h"
#include "core/training/contract/problem.h"
#include "core/training/tables/model_table.h"

namespace mercer::svm_rfe {

// `ranking`: a row for each column, the best first, with its rank, what it was judged by when it
// left, its number among the columns (from 1), and whether the model keeps it. `kept` is ascending.
ModelTable RankingTable(const Ranking& ranking, const std::vector<Index>& kept,
                        const std::vector<std::string>& names);

ByteCount TableBytes(const ProblemShape& shape);

}  // namespace mercer::svm_rfe

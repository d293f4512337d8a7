// The tables of a model, from the core to the API.
#pragma once

#include <vector>

#include "core/training/tables/model_table.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::server {

// What the learner tells, for the summary that is stored: as much as kMaxTableBytes has room for.
// Tables with a column for each output are without names of columns.
void WriteTables(const std::vector<ModelTable>& tables, v1::ModelVersion* message);

// Makes the tables of a stored summary those that GetModelVersion tells: first the weights of kernels and
// features, which have fields of their own in what is stored, then the others; columns of outputs
// are named by these. No more than kMaxTableBytes has room for, and of weights none that are larger
// than kMaxCopiedBytes.
void CompleteTables(v1::ModelVersion* message);

// What models of before say of a path in metrics and spreads is left out, as GetModelVersion tells it.
void LeaveOutPath(v1::ModelVersion* message);

}  // namespace mercer::server

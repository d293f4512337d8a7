// How stable a selection is: the same training on random parts of the rows, and how many of them
// select each kernel.
//
// Source       Meinshausen, Buehlmann: Stability selection. J. R. Stat. Soc. B 72 (2010) 417-473.
//              Parts are drawn without replacement; half of the rows is the paper's choice.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/training/contract/problem.h"
#include "core/training/model/model.h"
#include "core/training/tables/model_table.h"

namespace mercer {

struct StabilityOptions {
  int resamples = 50;     // trainings, 1 .. 1000
  double fraction = 0.5;  // of the rows, in (0, 1): those of one training
};

// The name of the table.
inline constexpr char kStabilityTable[] = "stability";

// What the trainings have come to.
struct SelectionCounts {
  int64_t trainings = 0;
  std::vector<int64_t> selected;  // of each kernel: how many give it a weight in some output

  // Counts one more. A summary that has other kernels than those before counts for nothing.
  void Add(const ModelSummary& summary);

  static void VisitFields(auto& visit, auto& self) {
    visit(self.trainings, self.selected);
    visit.Require([&] {
      for (const int64_t count : self.selected) {
        if (count < 0 || count > self.trainings) {
          return false;
        }
      }
      return true;
    });
  }
};

// A row for each kernel of the model: the share of the trainings that select it. At least one
// training has been counted.
ModelTable StabilityTable(const SelectionCounts& counts, const StabilityOptions& options,
                          const ModelSummary& model);

// The problem on a part of its rows, the one with that number. Tasks and classes keep their
// proportions, as far as groups, whose rows stay together, let them; both are given for each row
// of the data set, and are empty where there are none. Errors: kInvalidArgument when there are too
// few rows; kCancelled.
absl::StatusOr<TrainingProblem> DrawPart(const TrainingProblem& problem,
                                         const std::vector<int>& classes,
                                         const std::vector<int>& groups, double fraction,
                                         uint64_t number, const RunContext& context);

}  // namespace mercer

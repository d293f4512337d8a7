// What a learner tells beside the function, as tables that everybody can show without knowing the
// learner: rankings of variables, covariances, selections by task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"

namespace mercer {

// How a table is best drawn. The numbers are those of the model file and are never reused.
enum class TableDrawing : uint8_t {
  kNumbers = 0,
  kBars = 1,     // a bar for each row
  kHeatMap = 2,  // a colour for each entry
  kCurve = 3,    // a line for each column, over the rows in their order
};

struct ModelTable {
  // Of a table among those of the model: "variable_ranking", without dots. The names
  // "kernel_weights", "feature_weights", "path", "square_repairs" and "stability" are those of
  // tables that learners do not make.
  std::string name;
  std::string title;        // for people: "variables by the norm of their gradient"
  std::string row_axis;     // what the rows are, in the plural: "variables"
  std::string column_axis;  // what the columns are: "tasks"; empty with the outputs of the model
  std::vector<std::string> rows;     // a name for each
  std::vector<std::string> columns;  // the same; empty: they are the outputs of the model
  // Rows x columns, finite. Nobody scales them later: a learner that tells something in the unit of
  // the targets multiplies by TargetUnit::deviation itself.
  Matrix values;
  std::string unit;  // empty: numbers without one
  TableDrawing drawing = TableDrawing::kNumbers;

  // What a table says is checked by CheckTables.
  static void VisitFields(auto& visit, auto& self) {
    visit(self.name, self.title, self.row_axis, self.column_axis, self.rows, self.columns,
          self.values, self.unit, UpTo(self.drawing, TableDrawing::kCurve));
  }
};

// Checks that the tables of a model with so many outputs have names of their own, the shapes that
// they say, and finite numbers. Error: kDataLoss, which says what is wrong.
absl::Status CheckTables(const std::vector<ModelTable>& tables, Index num_outputs);

// The tables of a run whose parts have one output each. A table that every part has, with the same
// rows and a column for its output, becomes one with a column for each. All others stand for
// themselves, with the number of their output, from 1, behind their name: "ranking.2".
std::vector<ModelTable> MergeTables(const std::vector<std::vector<ModelTable>>& parts);

}  // namespace mercer

#include "server/prediction/dataset_prediction.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/io/quality/quality.h"

namespace mercer::server {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// What a look through the written data set takes: of names and lists; of a column, its counts and keys (quality.h); of a row that
// is compared, its hash, and that with its place in the table of them.
constexpr int64_t kLookBytes = int64_t{64} << 20;
constexpr int64_t kLookBytesPerColumn = 150;
constexpr int64_t kLookBytesPerRow = 24;

bool HasLabels(const Model& model) { return model.coding.kind() != CodingKind::kRegression; }

std::vector<ColumnSchema> PredictionColumns(const Model& model) {
  std::vector<ColumnSchema> columns;
  for (Index o = 0; o < model.coding.num_outputs(); ++o) {
    columns.push_back(
        {HasLabels(model) ? model.coding.OutputName(o) : kPredictionColumn, false, {}});
  }
  if (HasLabels(model)) {
    columns.push_back({kLabelColumn, true, model.coding.classes()});
  }
  return columns;
}

// A kept column of a dense block.
struct KeptFeature {
  size_t block = 0;
  Index column = 0;
};

// What the new data set is made of.
struct Layout {
  std::vector<ColumnSchema> columns;  // of its block
  std::vector<KeptFeature> features;  // the last of them
  std::vector<const RoleColumn*> role_columns;

  Index width() const { return static_cast<Index>(columns.size()); }
};

const RoleColumn* FindRoleColumn(const Dataset& source, std::string_view name) {
  for (const RoleColumn& column : source.role_columns) {
    if (column.schema.name == name) {
      return &column;
    }
  }
  return nullptr;
}

bool AddFeature(const Dataset& source, std::string_view name, Layout& layout) {
  for (size_t b = 0; b < source.blocks.size(); ++b) {
    const FeatureBlock& block = source.blocks[b];
    for (size_t c = 0; !block.is_sparse && c < block.columns.size(); ++c) {
      if (block.columns[c].name == name) {
        layout.columns.push_back(block.columns[c]);
        layout.features.push_back({b, static_cast<Index>(c)});
        return true;
      }
    }
  }
  return false;
}

absl::StatusOr<Layout> MakeLayout(const Model& model, const Dataset& source,
                                  const std::vector<std::string>& kept) {
  Layout layout;
  layout.columns = PredictionColumns(model);
  std::set<std::string> names;
  for (const ColumnSchema& column : layout.columns) {
    names.insert(column.name);
  }
  FieldViolations violations;
  for (size_t i = 0; i < kept.size(); ++i) {
    const std::string field = absl::StrCat("keep_columns[", i, "]");
    if (!names.insert(kept[i]).second) {
      violations.Add(field, absl::StrCat("'", kept[i], "' is the name of another column"));
    } else if (const RoleColumn* column = FindRoleColumn(source, kept[i]); column != nullptr) {
      layout.role_columns.push_back(column);
    } else if (!AddFeature(source, kept[i], layout)) {
      violations.Add(field, absl::StrCat("the data set has no column '", kept[i],
                                         "' with a role or in a dense block"));
    }
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return layout;
}

// All but the numbers of its block, whose place they need not have.
Dataset ShapeOf(const Layout& layout, Index rows) {
  static const double kNoNumber = 0;
  Dataset shape;
  shape.rows = rows;
  FeatureBlock& block = shape.blocks.emplace_back();
  block.name = kPredictionBlock;
  block.columns = layout.columns;
  block.values = SharedMatrix(nullptr, &kNoNumber, rows, layout.width());
  for (const RoleColumn* column : layout.role_columns) {
    shape.role_columns.push_back(*column);
  }
  return shape;
}

struct PredictedBlock {
  Prediction prediction;
  std::set<Index> unseen;  // rows
};

absl::StatusOr<PredictedBlock> PredictBlock(const Predictor& predictor, const Dataset& rows,
                                            const DatasetPrediction& asked, RunContext& context) {
  PredictedBlock block;
  const Preprocessing& preprocessing = predictor.model().preprocessing;
  if (asked.skips_unseen && preprocessing.options().unseen_category == UnseenCategory::kRefuse) {
    MERCER_ASSIGN_OR_RETURN(const std::vector<UnseenCell> cells,
                            preprocessing.FindUnseen(rows, context));
    for (const UnseenCell& cell : cells) {
      block.unseen.insert(cell.row);
    }
  }
  MERCER_ASSIGN_OR_RETURN(block.prediction, predictor.Predict(rows, asked.options, context));
  for (const Index row : block.unseen) {
    block.prediction.TakeBack(row);
  }
  return block;
}

absl::Status InfiniteValue(Index row, const std::string& column) {
  return WithReason(absl::OutOfRangeError(absl::StrCat("row ", row + 1, ", column '", column,
                                                       "': the predicted value is infinite")),
                    "INFINITE_PREDICTION", {{"row", absl::StrCat(row + 1)}, {"column", column}});
}

// The numbers of the new block for the rows [begin, ...) of the source.
absl::StatusOr<RowMatrix> NumbersOf(const PredictedBlock& block, Index begin, const Layout& layout,
                                    const Dataset& rows, bool has_labels) {
  const Matrix& values = block.prediction.decision_values;
  RowMatrix numbers(rows.rows, layout.width());
  for (Index row = 0; row < rows.rows; ++row) {
    for (Index output = 0; output < values.cols(); ++output) {
      numbers(row, output) = values(row, output);
      if (std::isinf(values(row, output))) {
        return InfiniteValue(begin + row, layout.columns[static_cast<size_t>(output)].name);
      }
    }
    if (has_labels) {
      numbers(row, values.cols()) = block.unseen.contains(row)
                                        ? kMissing
                                        : block.prediction.classes[static_cast<size_t>(row)];
    }
  }
  const Index first = layout.width() - static_cast<Index>(layout.features.size());
  for (size_t i = 0; i < layout.features.size(); ++i) {
    numbers.col(first + static_cast<Index>(i)) =
        rows.blocks[layout.features[i].block].values.view().col(layout.features[i].column);
  }
  MakeMissingAlike(numbers.data(), static_cast<size_t>(numbers.size()));
  return numbers;
}

// Columns are named as classes are, which may have any names.
absl::Status CheckColumns(const Dataset& shape) {
  absl::Status valid = ValidateAroundDenseValues(shape);
  valid.Update(CheckNameLengths(shape));
  FieldViolations violations;
  violations.Check(valid.ok(), "model",
                   absl::StrCat("its predictions are no columns of a data set: ", valid.message()));
  return violations.ToStatus();
}

}  // namespace

absl::Status CheckPrediction(const Predictor& predictor, const Dataset& source,
                             const DatasetPrediction& asked, RunContext& context) {
  const Dataset first = SelectRows(source, {0});
  MERCER_ASSIGN_OR_RETURN(const Layout layout,
                          MakeLayout(predictor.model(), first, asked.kept_columns));
  MERCER_RETURN_IF_ERROR(CheckColumns(ShapeOf(layout, first.rows)));
  return PredictBlock(predictor, first, asked, context).status();
}

int64_t PredictionBytes(const Model& model, const Dataset& source, const DatasetPrediction& asked) {
  const auto columns = static_cast<int64_t>(static_cast<size_t>(model.coding.num_outputs()) + 1 +
                                            asked.kept_columns.size());
  // Columns with a role are copied, and opened; of a target one knows the class of each row. The new block stays in its file.
  int64_t bytes_per_row = 0;
  for (const std::string& name : asked.kept_columns) {
    if (const RoleColumn* column = FindRoleColumn(source, name); column != nullptr) {
      bytes_per_row += 2 * static_cast<int64_t>(sizeof(double));
      bytes_per_row += column->role == ColumnRole::kTarget ? 1 : 0;
    }
  }
  // A block once more, of the numbers that are written.
  return 2 * BytesOfBlock(model, source) + kLookBytes + columns * kLookBytesPerColumn +
         source.rows * bytes_per_row +
         std::min<int64_t>(source.rows, DataQuality::kMaxHashedRows) * kLookBytesPerRow;
}

int64_t PredictedBytes(const Model& model, const Dataset& source, const DatasetPrediction& asked) {
  const size_t columns = PredictionColumns(model).size() + asked.kept_columns.size();
  return source.rows * static_cast<int64_t>(columns * sizeof(double));
}

absl::Status WritePredictions(const Predictor& predictor, const Dataset& source,
                              const DatasetPrediction& asked, RunContext& context,
                              const RowsDone& on_block, ByteSink& sink, PredictedRows& done) {
  const Model& model = predictor.model();
  MERCER_ASSIGN_OR_RETURN(const Layout layout, MakeLayout(model, source, asked.kept_columns));
  const Dataset shape = ShapeOf(layout, source.rows);
  if (done.rows == 0) {
    MERCER_RETURN_IF_ERROR(EncodeBeginning(shape, sink));
  }
  const auto write = [&](Index begin, const Dataset& rows) -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(const PredictedBlock block,
                            PredictBlock(predictor, rows, asked, context));
    MERCER_ASSIGN_OR_RETURN(const RowMatrix numbers,
                            NumbersOf(block, begin, layout, rows, HasLabels(model)));
    MERCER_RETURN_IF_ERROR(sink.Write({reinterpret_cast<const char*>(numbers.data()),
                                       static_cast<size_t>(numbers.size()) * sizeof(double)}));
    done.rows = begin + rows.rows;
    done.unpredicted += static_cast<int64_t>(block.unseen.size());
    done.by_mean += block.prediction.CountByMean();
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(ForEachRowBlock(model, source, done.rows, context, on_block, write));
  return EncodeRest(shape, sink);
}

}  // namespace mercer::server

#include "server/translation/prediction_translator.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/io/text/number_parser.h"
#include "core/io/text/readers.h"
#include "core/training/model/square_use.h"
#include "core/training/targets/label_names.h"
#include "core/training/targets/output_coding.h"
#include "server/translation/matrix_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

// Where the named columns of a model with several blocks go; the core finds them by name.
constexpr char kNamedColumns[] = "named columns";

template <typename Item>
const Item* FindNamed(const std::vector<Item>& items, const std::string& name) {
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&name](const Item& item) { return item.name == name; });
  return found == items.end() ? nullptr : &*found;
}

class RowsReader {
 public:
  RowsReader(const v1::Rows& rows, const Predictor& predictor, const HashSet<std::string>& ignored)
      : rows_(rows), model_(predictor.model()), squares_(predictor.squares()), ignored_(ignored) {}

  absl::StatusOr<Dataset> Read() {
    for (int i = 0; i < rows_.dense_size(); ++i) {
      MERCER_RETURN_IF_ERROR(AddDense(rows_.dense(i), absl::StrCat("rows.dense[", i, "]")));
    }
    for (int i = 0; i < rows_.sparse_size(); ++i) {
      MERCER_RETURN_IF_ERROR(AddSparse(rows_.sparse(i), absl::StrCat("rows.sparse[", i, "]")));
    }
    if (rows_.columns_size() > 0) {
      MERCER_RETURN_IF_ERROR(AddColumns());
    }
    for (int i = 0; i < rows_.squares_size(); ++i) {
      MERCER_RETURN_IF_ERROR(AddSquare(rows_.squares(i), absl::StrCat("rows.squares[", i, "]")));
    }
    if (rows_.tasks_size() > 0) {
      MERCER_RETURN_IF_ERROR(AddTasks());
    }
    if (!known_rows_ || dataset_.rows == 0) {
      return BadField("rows", "must hold at least one row");
    }
    MERCER_RETURN_IF_ERROR(ValidateDataset(dataset_));
    return std::move(dataset_);
  }

 private:
  absl::Status CountRows(Index rows, const std::string& path) {
    if (known_rows_ && rows != dataset_.rows) {
      return BadField(path, absl::StrCat("has ", rows, " rows, other parts have ", dataset_.rows));
    }
    known_rows_ = true;
    dataset_.rows = rows;
    return absl::OkStatus();
  }

  // What no kernel with a weight reads is not looked at.
  absl::Status AddSquare(const v1::SquareRows& square, const std::string& path) {
    MERCER_RETURN_IF_ERROR(CountRows(square.values().rows(), path));
    const SquareUse* use = FindNamed(squares_, square.name());
    if (use == nullptr) {
      return absl::OkStatus();
    }
    if (dataset_.FindSquare(use->name) != nullptr) {
      return BadField(path + ".name", absl::StrCat("'", use->name, "' is given twice"));
    }
    MERCER_ASSIGN_OR_RETURN(RowMatrix values, ReadMatrix(square.values(), path + ".values"));
    if (square.training_rows_size() > 0) {
      MERCER_ASSIGN_OR_RETURN(values, AtAllColumns(values, square.training_rows(), *use, path));
    }
    dataset_.squares.push_back({use->name, use->kind, SharedMatrix(std::move(values))});
    return absl::OkStatus();
  }

  // The columns `given` at their places among those of all training rows; those that the model does
  // not read are 0.
  absl::StatusOr<RowMatrix> AtAllColumns(const RowMatrix& values,
                                         const google::protobuf::RepeatedField<int64_t>& given,
                                         const SquareUse& use, const std::string& path) const {
    const Index count = model_.num_square_columns;
    const std::string field = path + ".training_rows";
    if (given.size() != values.cols()) {
      return BadField(field, absl::StrCat("must be one for each of the ", values.cols(),
                                          " columns of values, has ", given.size()));
    }
    const auto blocks = static_cast<Index>(squares_.size());
    const Index most = std::max<Index>(1, kMostSquareNumbers / (count * blocks));
    if (values.rows() > most) {
      return BadField(
          path, absl::StrCat("has ", values.rows(), " rows, must have at most ", most, " for ",
                             count, " training rows and ", blocks, " square blocks"));
    }
    std::vector<bool> known(static_cast<size_t>(count), false);
    RowMatrix all = RowMatrix::Zero(values.rows(), count);
    for (int c = 0; c < given.size(); ++c) {
      if (given[c] < 0 || given[c] >= count || known[static_cast<size_t>(given[c])]) {
        return BadField(
            absl::StrCat(field, "[", c, "]"),
            absl::StrCat("must be in [0, ", count, ") and differ from all others, is ", given[c]));
      }
      known[static_cast<size_t>(given[c])] = true;
      all.col(given[c]) = values.col(c);
    }
    for (const Index column : use.columns) {
      if (!known[static_cast<size_t>(column)]) {
        return BadField(field, absl::StrCat("must have all ", use.columns.size(),
                                            " rows that the model reads, has no ", column));
      }
    }
    return all;
  }

  // The model's block of that name, or its only one.
  absl::StatusOr<const BlockTransform*> RequireBlock(const std::string& name,
                                                     const std::string& path) const {
    const std::vector<BlockTransform>& blocks = model_.preprocessing.blocks();
    const BlockTransform* block =
        name.empty() && blocks.size() == 1 ? &blocks[0] : FindNamed(blocks, name);
    if (block == nullptr) {
      return BadField(path + ".name", name.empty()
                                          ? "is missing: the model has several blocks"
                                          : absl::StrCat("the model has no block '", name, "'"));
    }
    return block;
  }

  bool IsTaskColumn(const std::string& name) const {
    return model_.tasks.has_column() && name == model_.tasks.column();
  }

  bool IsIgnored(const std::string& name) const {
    return name == model_.target || ignored_.count(name) > 0;
  }

  static ColumnSchema SchemaOf(const ColumnTransform& column) {
    return {column.name, column.categorical, column.categories};
  }

  absl::Status AddDense(const v1::DenseBlock& dense, const std::string& path) {
    MERCER_ASSIGN_OR_RETURN(RowMatrix values, ReadMatrix(dense.values(), path + ".values"));
    MERCER_RETURN_IF_ERROR(CountRows(values.rows(), path));
    MERCER_ASSIGN_OR_RETURN(const BlockTransform* transform, RequireBlock(dense.name(), path));
    FeatureBlock block;
    block.name = transform->name;
    const Index expected = dense.columns().empty() ? static_cast<Index>(transform->columns.size())
                                                   : static_cast<Index>(dense.columns_size());
    if (values.cols() != expected) {
      return BadField(path + ".values.columns",
                      absl::StrCat("must be ", expected, ", is ", values.cols()));
    }
    if (dense.columns().empty()) {
      for (const ColumnTransform& column : transform->columns) {
        block.columns.push_back(SchemaOf(column));
      }
    }
    std::vector<Index> kept;
    for (int c = 0; c < dense.columns_size(); ++c) {
      const ColumnTransform* column = FindNamed(transform->columns, dense.columns(c));
      if (column == nullptr && IsTaskColumn(dense.columns(c))) {
        dataset_.role_columns.push_back(
            {ColumnRole::kTask, {dense.columns(c), false, {}}, values.col(c)});
        continue;
      }
      if (column == nullptr && IsIgnored(dense.columns(c))) {
        continue;
      }
      if (column == nullptr) {
        return BadField(absl::StrCat(path, ".columns[", c, "]"),
                        absl::StrCat("the model's block '", transform->name, "' has no column '",
                                     dense.columns(c), "'"));
      }
      block.columns.push_back(SchemaOf(*column));
      kept.push_back(c);
    }
    if (static_cast<Index>(kept.size()) < static_cast<Index>(dense.columns_size())) {
      values = RowMatrix(values(Eigen::all, kept));
    }
    block.values = SharedMatrix(std::move(values));
    dataset_.blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status AddSparse(const v1::SparseBlock& sparse, const std::string& path) {
    if (sparse.row_starts().empty()) {
      return BadField(path + ".row_starts", "is missing");
    }
    MERCER_RETURN_IF_ERROR(CountRows(sparse.row_starts_size() - 1, path));
    MERCER_ASSIGN_OR_RETURN(const BlockTransform* transform, RequireBlock(sparse.name(), path));
    if (sparse.num_columns() < 0) {
      return BadField(path + ".num_columns",
                      absl::StrCat("must be >= 0, is ", sparse.num_columns()));
    }
    FeatureBlock block;
    block.name = transform->name;
    block.is_sparse = true;
    block.sparse.columns = sparse.num_columns() == 0 ? static_cast<Index>(transform->columns.size())
                                                     : static_cast<Index>(sparse.num_columns());
    block.sparse.row_starts.assign(sparse.row_starts().begin(), sparse.row_starts().end());
    block.sparse.column_indices.assign(sparse.column_indices().begin(),
                                       sparse.column_indices().end());
    block.sparse.values.assign(sparse.values().begin(), sparse.values().end());
    dataset_.blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status AddColumns() {
    HashMap<std::string, const ColumnTransform*> known;
    for (const BlockTransform& block : model_.preprocessing.blocks()) {
      for (const ColumnTransform& column : block.columns) {
        known.emplace(column.name, &column);
      }
    }
    FeatureBlock block;
    const std::vector<BlockTransform>& blocks = model_.preprocessing.blocks();
    block.name = blocks.size() == 1 ? blocks[0].name : kNamedColumns;
    std::vector<std::vector<double>> columns;
    FieldViolations unknown;
    for (int i = 0; i < rows_.columns_size(); ++i) {
      const v1::TypedColumn& column = rows_.columns(i);
      const std::string path = absl::StrCat("rows.columns[", i, "]");
      MERCER_RETURN_IF_ERROR(CountRows(
          column.has_texts() ? column.texts().values_size() : column.numbers().values_size(),
          path));
      const auto found = known.find(column.name());
      if (found == known.end() && IsTaskColumn(column.name())) {
        MERCER_RETURN_IF_ERROR(AddTaskColumn(column));
        continue;
      }
      if (found == known.end()) {
        unknown.Check(IsIgnored(column.name()), path + ".name",
                      absl::StrCat("the model has no column '", column.name(), "'"));
        continue;
      }
      ColumnSchema schema{found->second->name, found->second->categorical, {}};
      MERCER_ASSIGN_OR_RETURN(std::vector<double> values, schema.categorical
                                                              ? ReadCategories(column, schema)
                                                              : ReadNumbers(column));
      columns.push_back(std::move(values));
      block.columns.push_back(std::move(schema));
    }
    MERCER_RETURN_IF_ERROR(unknown.ToStatus());
    if (columns.empty() || dataset_.rows == 0) {
      return absl::OkStatus();  // what is ignored alone; or no rows, which Read() refuses
    }
    RowMatrix values(dataset_.rows, static_cast<Index>(columns.size()));
    for (size_t c = 0; c < columns.size(); ++c) {
      values.col(static_cast<Index>(c)) =
          Eigen::Map<const Vector>(columns[c].data(), dataset_.rows);
    }
    block.values = SharedMatrix(std::move(values));
    dataset_.blocks.push_back(std::move(block));
    return absl::OkStatus();
  }

  absl::Status AddTasks() {
    if (!model_.tasks.has_column()) {
      return BadField("rows.tasks", "is for models of several tasks");
    }
    if (!dataset_.role_columns.empty()) {
      return BadField("rows.tasks", "a column of the rows says their tasks already");
    }
    MERCER_RETURN_IF_ERROR(CountRows(rows_.tasks_size(), "rows.tasks"));
    v1::TypedColumn column;
    *Choose(column, &v1::TypedColumn::mutable_texts).mutable_values() = rows_.tasks();
    return AddTaskColumn(column);
  }

  absl::Status AddTaskColumn(const v1::TypedColumn& column) {
    RoleColumn tasks{ColumnRole::kTask, {model_.tasks.column(), true, {}}, {}};
    MERCER_ASSIGN_OR_RETURN(const std::vector<double> codes, ReadCategories(column, tasks.schema));
    tasks.values = Eigen::Map<const Vector>(codes.data(), static_cast<Index>(codes.size()));
    dataset_.role_columns.push_back(std::move(tasks));
    return absl::OkStatus();
  }

  static absl::StatusOr<std::vector<double>> ReadNumbers(const v1::TypedColumn& column) {
    if (!column.has_texts()) {
      return std::vector<double>(column.numbers().values().begin(),
                                 column.numbers().values().end());
    }
    const std::vector<std::string> usual = CsvOptions().missing;
    const auto is_missing = [&usual](const std::string& text) {
      return text.empty() || StandsForNoNumber(text) ||
             std::find(usual.begin(), usual.end(), text) != usual.end();
    };
    std::vector<double> values;
    for (const std::string& text : column.texts().values()) {
      double value = std::numeric_limits<double>::quiet_NaN();
      if (!is_missing(text) && !absl::SimpleAtod(text, &value)) {
        const std::string row = absl::StrCat(values.size() + 1);
        return WithReason(absl::InvalidArgumentError(
                              absl::StrCat("row ", row, ", column '", column.name(),
                                           "': not a number: '", Shorten(text, kQuotedBytes), "'")),
                          "BAD_CELL", {{"row", row}, {"column", column.name()}});
      }
      values.push_back(value);
    }
    return values;
  }

  // Codes in order of appearance; `schema` receives their names.
  static absl::StatusOr<std::vector<double>> ReadCategories(const v1::TypedColumn& column,
                                                            ColumnSchema& schema) {
    HashMap<std::string, double> codes;
    std::vector<double> values;
    const auto add = [&](const std::string& text) {
      if (text.empty()) {
        values.push_back(std::numeric_limits<double>::quiet_NaN());
        return;
      }
      const auto [entry, is_new] = codes.emplace(text, static_cast<double>(codes.size()));
      if (is_new) {
        schema.categories.push_back(text);
      }
      values.push_back(entry->second);
    };
    for (const std::string& text : column.texts().values()) {
      add(text);
    }
    for (const double number : column.numbers().values()) {
      add(std::isnan(number) ? std::string() : FormatLabel(number));
    }
    return values;
  }

  const v1::Rows& rows_;
  const Model& model_;
  const std::vector<SquareUse>& squares_;
  const HashSet<std::string>& ignored_;
  Dataset dataset_;
  bool known_rows_ = false;
};

}  // namespace

absl::StatusOr<Dataset> ReadRows(const v1::Rows& rows, const Predictor& predictor,
                                 const HashSet<std::string>& ignored) {
  return RowsReader(rows, predictor, ignored).Read();
}

absl::StatusOr<TaskRule> ReadTaskRule(v1::TaskRule rule) {
  switch (rule) {
    case v1::TASK_RULE_UNSPECIFIED:
    case v1::TASK_RULE_OWN:
      return TaskRule::kOwn;
    case v1::TASK_RULE_MEAN_IF_UNKNOWN:
      return TaskRule::kMeanIfUnknown;
    case v1::TASK_RULE_MEAN:
      return TaskRule::kMean;
    default:
      return BadField("task_rule", "is none of those that there are");
  }
}

void WriteRowErrors(const std::vector<UnseenCell>& cells, v1::PredictResponse* response) {
  for (const UnseenCell& cell : cells) {
    v1::RowError& error = *response->add_row_errors();
    error.set_row(cell.row + 1);
    error.set_column(cell.column);
    error.set_value(cell.category);
    error.set_message(absl::StrCat("column '", cell.column,
                                   "': training did not know the category '",
                                   Shorten(cell.category, kQuotedBytes), "'"));
    if (response->labels_size() > 0) {
      response->set_labels(static_cast<int>(cell.row), "");
    }
  }
}

absl::Status WritePrediction(const Model& model, const Prediction& prediction,
                             v1::PredictResponse* response) {
  for (Index o = 0; o < model.coding.num_outputs(); ++o) {
    // A regression's output is named after its target.
    response->add_outputs(
        model.coding.kind() == CodingKind::kRegression ? model.target : model.coding.OutputName(o));
  }
  MERCER_RETURN_IF_ERROR(
      WriteMatrix(prediction.decision_values, response->mutable_decision_values()));
  response->set_rows_by_mean(prediction.CountByMean());
  for (const int index : prediction.classes) {
    response->add_labels(model.coding.classes()[static_cast<size_t>(index)]);
  }
  for (size_t k = 0; k < prediction.contributions.size(); ++k) {
    v1::Contribution* contribution = response->add_contributions();
    contribution->set_name(prediction.contribution_names[k]);
    MERCER_RETURN_IF_ERROR(
        WriteMatrix(prediction.contributions[k], contribution->mutable_values()));
  }
  // Of several tasks there are more functions than outputs of a row.
  const std::vector<std::string> names = OutputNames(model);
  const bool by_output = static_cast<int>(names.size()) == response->outputs_size();
  for (const LearnedGradient& gradient : prediction.gradients) {
    v1::LearnedGradient* message = response->add_gradients();
    message->set_output(by_output ? response->outputs(gradient.output)
                                  : names[static_cast<size_t>(gradient.output)]);
    message->mutable_columns()->Assign(gradient.columns.begin(), gradient.columns.end());
    if (gradient.values.size() > 0) {
      MERCER_RETURN_IF_ERROR(WriteMatrix(gradient.values, message->mutable_values()));
    }
    if (gradient.projections.size() > 0) {
      MERCER_RETURN_IF_ERROR(WriteMatrix(gradient.projections, message->mutable_projections()));
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer::server

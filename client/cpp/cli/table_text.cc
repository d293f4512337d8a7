#include "client/cpp/cli/table_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "client/cpp/cli/group_text.h"
#include "client/cpp/cli/text.h"

namespace mercer::client {
namespace {

constexpr int kMaxBarWidth = 30;
constexpr int kMinNameWidth = 20;
constexpr int kBesideName = 28;  // cells of a line that a row's name leaves for bar and number
constexpr int kCellWidth = 10;   // of a number, at most
constexpr int kNameWidth = 18;   // of the name of a column, at most
constexpr int kGroupWidth = 16;  // of the column of groups, at most

// As many as there are values for at the most.
int64_t NumColumns(const v1::ModelTable& table) {
  const auto values = static_cast<int64_t>(table.values().values_size());
  return std::max<int64_t>(1, std::min(table.values().columns(), values));
}

double ValueAt(const v1::ModelTable& table, size_t row, int64_t column) {
  const int64_t place = static_cast<int64_t>(row) * NumColumns(table) + column;
  return place < table.values().values_size() ? table.values().values(static_cast<int>(place))
                                              : 0.0;
}

// Mean absolute value of each row over the columns.
std::vector<double> RowSizes(const v1::ModelTable& table) {
  std::vector<double> sizes(static_cast<size_t>(table.rows_size()), 0.0);
  const int64_t columns = NumColumns(table);
  const auto& values = table.values().values();
  for (int i = 0; i < values.size(); ++i) {
    const auto row = static_cast<size_t>(i / columns);
    if (row < sizes.size()) {
      sizes[row] += std::abs(values[i]) / static_cast<double>(columns);
    }
  }
  return sizes;
}

// A table whose rows are in an order that says something: a curve, a ranking from the best on, one of things against themselves.
bool IsOrdered(const v1::ModelTable& table) {
  const bool is_symmetric = std::equal(table.rows().begin(), table.rows().end(),
                                       table.columns().begin(), table.columns().end());
  return table.drawing() == v1::TABLE_DRAWING_CURVE || table.name() == "ranking" || is_symmetric;
}

// The rows as they are shown.
std::vector<size_t> RowOrder(const v1::ModelTable& table, const std::vector<double>& sizes) {
  std::vector<size_t> order(sizes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (!IsOrdered(table)) {
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return sizes[a] > sizes[b]; });
  }
  return order;
}

// Numbers of a kernel's name to four digits: "bandwidth=1.5199110829529339" is "bandwidth=1.52".
std::string ShortName(const std::string& name) {
  std::string result;
  for (size_t begin = 0; begin < name.size();) {
    const size_t end = std::min(name.find_first_not_of("0123456789.", begin), name.size());
    double value = 0.0;
    const bool follows_equals = begin > 0 && name[begin - 1] == '=';
    if (follows_equals && end > begin + 6 &&
        absl::SimpleAtod(name.substr(begin, end - begin), &value)) {
      absl::StrAppend(&result, absl::StrFormat("%.4g", value));
      begin = end;
    } else {
      result.push_back(name[begin++]);
    }
  }
  return result;
}

// Those that are shown.
std::vector<std::string> RowNames(const v1::ModelTable& table, const std::vector<size_t>& order,
                                  size_t shown) {
  std::vector<std::string> names;
  for (size_t i = 0; i < shown; ++i) {
    const std::string& name = table.rows(static_cast<int>(order[i]));
    double value = 0.0;
    names.push_back(absl::SimpleAtod(name, &value) && std::isfinite(value)
                        ? absl::StrFormat("%.6g", value)
                        : Printable(ShortName(name)));
  }
  return names;
}

// The groups of the rows that are shown; none where the rows are in no groups.
std::vector<std::string> RowGroups(const v1::ModelTable& table, const std::vector<size_t>& order,
                                   size_t shown) {
  std::vector<std::string> groups;
  for (size_t i = 0; i < shown && table.row_groups_size() == table.rows_size(); ++i) {
    const std::string& group = table.row_groups(static_cast<int>(order[i]));
    groups.push_back(CutMiddle(Printable(group), kGroupWidth));
  }
  return groups;
}

int WidthOf(const std::vector<std::string>& texts) {
  int width = 0;
  for (const std::string& text : texts) {
    width = std::max(width, DisplayWidth(text));
  }
  return width;
}

// "kernel weights", "distances, in cm".
std::string TitleText(const v1::ModelTable& table) {
  return Printable(absl::StrCat(table.title().empty() ? table.name() : table.title(),
                                table.unit().empty() ? "" : ", in ", table.unit()));
}

// What is averaged over the columns; nothing of a single one.
std::string MeansText(const v1::ModelTable& table) {
  const int64_t columns = NumColumns(table);
  if (columns < 2) {
    return "";
  }
  const auto& values = table.values().values();
  const bool signed_values =
      std::any_of(values.begin(), values.end(), [](double value) { return value < 0.0; });
  const std::string axis = table.column_axis().empty() ? "columns" : table.column_axis();
  return Printable(absl::StrCat(signed_values ? " (mean sizes over " : " (means over ", columns,
                                " ", axis, ")"));
}

// What the bars leave out.
std::string RestText(const std::vector<double>& sizes, const std::vector<size_t>& order,
                     size_t shown) {
  size_t zeros = 0;
  double rest = 0.0;
  for (size_t i = shown; i < order.size(); ++i) {
    zeros += sizes[order[i]] == 0.0 ? 1 : 0;
    rest += sizes[order[i]];
  }
  const double total = std::accumulate(sizes.begin(), sizes.end(), 0.0);
  if (shown == sizes.size() || total == 0.0) {
    return "";
  }
  return absl::StrFormat("  %d more with %.1f %% of the sum of all values%s\n",
                         sizes.size() - shown, 100.0 * rest / total,
                         zeros > 0 ? absl::StrCat("; ", zeros, " of them 0") : "");
}

std::string FormatBars(const v1::ModelTable& table, const std::vector<double>& sizes,
                       const std::vector<size_t>& order, size_t shown, const Terminal& terminal) {
  const std::vector<std::string> names = RowNames(table, order, shown);
  const int name_width =
      std::min(WidthOf(names), std::max(kMinNameWidth, terminal.width - kBesideName));
  const int bar_width = std::clamp(terminal.width - name_width - 16, 8, kMaxBarWidth);
  const double largest = std::max(sizes[order[0]], 1e-300);
  const bool one_column = NumColumns(table) == 1;
  std::string text = absl::StrCat(TitleText(table), MeansText(table), "\n");
  for (size_t i = 0; i < shown; ++i) {
    const double size = sizes[order[i]];
    absl::StrAppend(&text, "  ", Pad(CutMiddle(names[i], name_width), name_width), "  ",
                    Paint(terminal, Colour::kGreen, Bar(size / largest, bar_width)), " ",
                    absl::StrFormat("%.3g", one_column ? ValueAt(table, order[i], 0) : size), "\n");
  }
  return text + RestText(sizes, order, shown);
}

// "not shown: 12 of 22 variables, 3 of 10 outputs".
std::string NotShownText(const v1::ModelTable& table, size_t shown_rows, int64_t shown_columns) {
  const auto rows = static_cast<size_t>(table.rows_size());
  const int64_t columns = NumColumns(table);
  std::vector<std::string> parts;
  if (shown_rows < rows) {
    parts.push_back(absl::StrCat(rows - shown_rows, " of ", rows, " ",
                                 table.row_axis().empty() ? "rows" : table.row_axis()));
  }
  if (shown_columns < columns) {
    parts.push_back(absl::StrCat(columns - shown_columns, " of ", columns, " ",
                                 table.column_axis().empty() ? "columns" : table.column_axis()));
  }
  return parts.empty()
             ? ""
             : Printable(absl::StrCat("  not shown: ", absl::StrJoin(parts, ", "))) + "\n";
}

// The names of as many columns as have room in `width` cells, one at least.
std::vector<std::string> ColumnNames(const v1::ModelTable& table, int width) {
  std::vector<std::string> names;
  for (int64_t column = 0; column < NumColumns(table); ++column) {
    const bool has_name = column < table.columns_size();
    names.push_back(
        CutMiddle(has_name ? Printable(table.columns(static_cast<int>(column))) : "", kNameWidth));
    width -= std::max(kCellWidth, DisplayWidth(names.back())) + 2;
    if (width < 0 && column > 0) {
      names.pop_back();
      break;
    }
  }
  return names;
}

std::string FormatNumbers(const v1::ModelTable& table, const std::vector<size_t>& order,
                          size_t shown, const Terminal& terminal) {
  const std::vector<std::string> names = RowNames(table, order, shown);
  const int most_of_name = std::max(kMinNameWidth, terminal.width / 2);
  const std::vector<std::string> groups = RowGroups(table, order, shown);
  const int name_width =
      std::min(std::max(DisplayWidth(table.row_axis()), WidthOf(names)), most_of_name);
  const int group_width = groups.empty() ? 0 : std::max(WidthOf(groups), DisplayWidth("group")) + 2;
  const int width = terminal.width - 2 - name_width - group_width;
  const std::vector<std::string> titles = ColumnNames(table, width);
  const auto columns = static_cast<int64_t>(titles.size());
  std::vector<std::string> header = {"", CutMiddle(Printable(table.row_axis()), name_width)};
  if (!groups.empty()) {
    header.emplace_back("group");
  }
  header.insert(header.end(), titles.begin(), titles.end());
  Table lines(std::move(header));
  for (size_t i = 0; i < shown; ++i) {
    std::vector<std::string> cells = {"", CutMiddle(names[i], name_width)};
    if (!groups.empty()) {
      cells.push_back(groups[i]);
    }
    for (int64_t column = 0; column < columns; ++column) {
      cells.push_back(absl::StrFormat("%.4g", ValueAt(table, order[i], column)));
    }
    lines.AddRow(std::move(cells));
  }
  return absl::StrCat(TitleText(table), "\n", lines.ToString(),
                      NotShownText(table, shown, columns));
}

v1::ModelTable WeightTable(const std::string& name, const std::string& title,
                           const google::protobuf::RepeatedPtrField<std::string>& rows,
                           const v1::Matrix& weights) {
  v1::ModelTable table;
  table.set_name(name);
  table.set_title(title);
  table.set_column_axis("outputs");
  *table.mutable_rows() = rows;
  *table.mutable_values() = weights;
  table.set_drawing(v1::TABLE_DRAWING_BARS);
  return table;
}

// Whether the rows stand below their groups, as bars.
bool HasGroupsOfBars(const v1::ModelTable& table) {
  return table.drawing() == v1::TABLE_DRAWING_BARS && table.rows_size() > 0 &&
         table.row_groups_size() == table.rows_size();
}

std::string FormatGroupsOfBars(const v1::ModelTable& table, const std::vector<double>& norms,
                               const Terminal& terminal, int most) {
  GroupedRows rows;
  std::vector<size_t> order(static_cast<size_t>(table.rows_size()));
  std::iota(order.begin(), order.end(), size_t{0});
  rows.names = RowNames(table, order, order.size());
  rows.groups.assign(table.row_groups().begin(), table.row_groups().end());
  rows.weights = RowSizes(table);
  for (size_t row = 0; NumColumns(table) == 1 && row < order.size(); ++row) {
    rows.weights[row] = ValueAt(table, row, 0);
  }
  rows.norms = norms;
  return absl::StrCat(TitleText(table), MeansText(table), "\n", FormatGroups(rows, terminal, most));
}

// The column of norms; -1: the table has none.
int64_t NormColumn(const v1::ModelTable& table) {
  const auto found = std::find(table.columns().begin(), table.columns().end(), "norm");
  return found == table.columns().end() ? -1 : found - table.columns().begin();
}

// Whether `table` tells the norms of the functions of the kernels that `kernels` has the weights of.
bool HasNormsOfKernels(const v1::ModelTable& table, const v1::ModelTable& kernels) {
  return table.row_axis() == "kernels" && table.rows_size() == kernels.rows_size() &&
         NormColumn(table) >= 0;
}

// Means over the tables that tell them, of which there is one for each output or one alone; empty:
// there is none.
std::vector<double> NormsOfKernels(const std::vector<v1::ModelTable>& tables,
                                   const v1::ModelTable& kernels) {
  std::vector<double> norms;
  double count = 0;
  for (const v1::ModelTable& table : tables) {
    if (HasNormsOfKernels(table, kernels)) {
      norms.resize(static_cast<size_t>(kernels.rows_size()), 0.0);
      for (size_t row = 0; row < norms.size(); ++row) {
        norms[row] += ValueAt(table, row, NormColumn(table));
      }
      count += 1;
    }
  }
  for (double& norm : norms) {
    norm /= count;
  }
  return norms;
}

// Whether the bars of kernels in groups with their norms say what the table does.
bool IsToldByGroups(const v1::ModelTable& table, const v1::ModelTable& kernels) {
  const std::set<std::string> groups(kernels.row_groups().begin(), kernels.row_groups().end());
  const bool of_groups = table.row_axis() == "groups" && NormColumn(table) >= 0 &&
                         static_cast<size_t>(table.rows_size()) == groups.size();
  return of_groups || HasNormsOfKernels(table, kernels);
}

// Of outputs that are learnt apart each table is of one, whose number, from 1, stands behind a dot
// of the name; 0: the table is of all.
int OutputOf(const v1::ModelTable& table) {
  const size_t dot = table.name().rfind('.');
  int number = 0;
  return dot != std::string::npos && absl::SimpleAtoi(table.name().substr(dot + 1), &number)
             ? std::max(number, 0)
             : 0;
}

// The outputs of a model of several tasks are its tasks.
bool HasColumnsOfOutputs(const v1::ModelTable& table) {
  return table.column_axis() == "outputs" || table.column_axis() == "tasks";
}

bool HasColumnOfEachOutput(const v1::ModelTable& table, int num_outputs) {
  return num_outputs > 1 && HasColumnsOfOutputs(table) && NumColumns(table) == num_outputs;
}

// "output 2", "output 2 (bob)"; of tasks, which have names, "task bob".
std::string OutputText(const v1::ModelTable& table, int output, const std::string& name) {
  if (table.column_axis() == "tasks") {
    return absl::StrCat("task ", name.empty() ? absl::StrCat(output) : name);
  }
  const bool is_number = name.empty() || name == absl::StrCat(output);
  return absl::StrCat("output ", output, is_number ? "" : " (" + name + ")");
}

// The column of that output, from 1, alone.
v1::ModelTable ColumnOf(const v1::ModelTable& table, int output) {
  v1::ModelTable column = table;
  const std::string name = output <= table.columns_size() ? table.columns(output - 1) : "";
  column.set_title(absl::StrCat(table.title(), ", ", OutputText(table, output, name)));
  column.clear_columns();
  column.add_columns(name);
  column.mutable_values()->clear_values();
  column.mutable_values()->set_columns(1);
  for (int row = 0; row < table.rows_size(); ++row) {
    column.mutable_values()->add_values(ValueAt(table, static_cast<size_t>(row), output - 1));
  }
  return column;
}

// The tables of all outputs together and those of one.
std::vector<v1::ModelTable> TablesOfOutput(const std::vector<v1::ModelTable>& tables, int output,
                                           int num_outputs) {
  std::vector<v1::ModelTable> kept;
  for (const v1::ModelTable& table : tables) {
    if (HasColumnOfEachOutput(table, num_outputs)) {
      kept.push_back(ColumnOf(table, output));
    } else if (OutputOf(table) == 0 || OutputOf(table) == output) {
      kept.push_back(table);
    }
  }
  return kept;
}

bool HasTable(const v1::ModelVersion& model, const std::string& name) {
  return std::any_of(model.tables().begin(), model.tables().end(),
                     [&](const v1::ModelTable& table) { return table.name() == name; });
}

}  // namespace

std::vector<v1::ModelTable> TablesOf(const v1::ModelVersion& model) {
  std::vector<v1::ModelTable> tables;
  const v1::KernelWeights& kernels = model.kernel_weights();
  if (!kernels.kernels().empty() && !HasTable(model, "kernel_weights")) {
    tables.push_back(
        WeightTable("kernel_weights", "kernel weights", kernels.kernels(), kernels.weights()));
    *tables.back().mutable_row_groups() = kernels.groups();
  }
  const v1::FeatureWeights& features = model.feature_weights();
  if (!features.features().empty() && !HasTable(model, "feature_weights")) {
    tables.push_back(
        WeightTable("feature_weights", "chosen features", features.features(), features.weights()));
  }
  tables.insert(tables.end(), model.tables().begin(), model.tables().end());
  return tables;
}

std::string FormatTable(const v1::ModelTable& table, const Terminal& terminal, int most) {
  if (table.rows().empty()) {
    return "";
  }
  if (HasGroupsOfBars(table)) {
    return FormatGroupsOfBars(table, {}, terminal, most);
  }
  const std::vector<double> sizes = RowSizes(table);
  const std::vector<size_t> order = RowOrder(table, sizes);
  const size_t shown = most > 0 ? std::min(sizes.size(), static_cast<size_t>(most)) : sizes.size();
  return table.drawing() == v1::TABLE_DRAWING_BARS
             ? FormatBars(table, sizes, order, shown, terminal)
             : FormatNumbers(table, order, shown, terminal);
}

int CountOutputsOfTables(const v1::ModelVersion& model) {
  int most = 1;
  for (const v1::ModelTable& table : TablesOf(model)) {
    most = std::max(most, OutputOf(table));
    if (HasColumnsOfOutputs(table)) {
      most = std::max(most, static_cast<int>(NumColumns(table)));
    }
  }
  return most;
}

std::string FormatTables(const v1::ModelVersion& model, const Terminal& terminal, int most,
                         int output) {
  std::vector<v1::ModelTable> tables = TablesOf(model);
  const int num_outputs = CountOutputsOfTables(model);
  if (output > 0) {
    tables = TablesOfOutput(tables, output, num_outputs);
  }
  const auto kernels = std::find_if(tables.begin(), tables.end(), [](const v1::ModelTable& table) {
    return table.name() == "kernel_weights" && HasGroupsOfBars(table);
  });
  const std::vector<double> norms =
      kernels == tables.end() ? std::vector<double>() : NormsOfKernels(tables, *kernels);
  std::string text;
  for (auto table = tables.begin(); table != tables.end(); ++table) {
    const bool is_told = !norms.empty() && table != kernels && IsToldByGroups(*table, *kernels);
    const bool is_further = output == 0 && OutputOf(*table) > 1;  // the first stands for them
    if (table == kernels) {
      absl::StrAppend(&text, FormatGroupsOfBars(*table, norms, terminal, most));
    } else if (!is_told && !is_further) {
      absl::StrAppend(&text, FormatTable(*table, terminal, most));
    }
  }
  if (num_outputs > 1) {
    absl::StrAppend(&text, "tables of each of ", num_outputs, " outputs: --output 1 to ",
                    num_outputs, "\n");
  }
  return text;
}

}  // namespace mercer::client

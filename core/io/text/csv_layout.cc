#include "core/io/text/csv_layout.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/csv_cells.h"
#include "core/io/text/number_parser.h"

namespace mercer {
namespace {

// Applies the options to a layout whose columns are named.
class LayoutBuilder {
 public:
  explicit LayoutBuilder(const std::vector<std::string>& names) {
    for (size_t i = 0; i < names.size(); ++i) {
      index_[names[i]] = i;
      layout_.columns.push_back({.name = names[i]});
    }
    in_block_.resize(names.size(), false);
  }

  absl::Status ApplyRoles(const std::map<std::string, ColumnRole>& roles) {
    for (const auto& [name, role] : roles) {
      MERCER_ASSIGN_OR_RETURN(const size_t i, Find(name, "a role"));
      CsvColumn& column = layout_.columns[i];
      column.role = role;
      if (role == ColumnRole::kWeight) {
        column.type = CsvType::kNumeric;
        column.type_stated = true;
      }
    }
    return absl::OkStatus();
  }

  absl::Status ApplyType(const std::vector<std::string>& names, CsvType type) {
    for (const std::string& name : names) {
      MERCER_ASSIGN_OR_RETURN(const size_t i, Find(name, "a type"));
      CsvColumn& column = layout_.columns[i];
      if (column.type_stated && column.type != type) {
        return HeaderError(
            name, absl::StrCat("column ", Quoted(name), " cannot be both numeric and categorical"));
      }
      column.type = type;
      column.type_stated = true;
    }
    return absl::OkStatus();
  }

  absl::Status ApplyBlock(const BlockColumns& block) {
    for (const std::string& text : block.columns) {
      MERCER_ASSIGN_OR_RETURN(const auto range, FindRange(text));
      for (size_t i = range.first; i <= range.second; ++i) {
        const bool alone = range.first == range.second;
        if (layout_.columns[i].role != ColumnRole::kFeature && !alone) {
          continue;  // a range runs over columns with a role
        }
        MERCER_RETURN_IF_ERROR(AddToBlock(block.name, i));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<CsvLayout> Finish() && {
    for (size_t i = 0; i < layout_.columns.size(); ++i) {
      if (layout_.columns[i].role == ColumnRole::kFeature && !in_block_[i]) {
        MERCER_RETURN_IF_ERROR(AddToBlock(kDefaultBlock, i));
      }
    }
    return std::move(layout_);
  }

 private:
  absl::StatusOr<size_t> Find(const std::string& name, std::string_view given) const {
    const auto found = index_.find(name);
    if (found == index_.end()) {
      const bool other_delimiter = HasOtherDelimiter();
      const bool data = !other_delimiter && LooksLikeData();
      return HeaderError(
          name,
          absl::StrCat("there is no column ", Quoted(name), ", for which the options give ",
                       std::string(given), "; ", Columns(), DidYouMean(name, Names()),
                       other_delimiter ? "; is it several, between other delimiters?" : "",
                       data ? "; is the first line data?" : ""),
          other_delimiter ? "csv.delimiter"
          : data          ? "csv.no_header"
                          : "");
    }
    return found->second;
  }

  std::vector<std::string> Names() const {
    std::vector<std::string> names;
    for (const CsvColumn& column : layout_.columns) {
      names.push_back(column.name);
    }
    return names;
  }

  // The first columns and the last ones, among which most tables have their target.
  std::string Columns() const {
    constexpr size_t kFirst = 7;
    constexpr size_t kLast = 3;
    const size_t count = layout_.columns.size();
    if (count == 1) {
      return absl::StrCat("the only column is ", Quoted(layout_.columns[0].name));
    }
    std::string text = absl::StrCat("the ", count, " columns are");
    for (size_t i = 0; i < count; ++i) {
      if (i == kFirst && count > kFirst + kLast) {
        text += ", ...";
        i = count - kLast;
      }
      absl::StrAppend(&text, i == 0 ? " " : ", ", Quoted(layout_.columns[i].name));
    }
    return text;
  }

  // Whether a first line that is one cell seems to be several.
  bool HasOtherDelimiter() const {
    return layout_.columns.size() == 1 &&
           layout_.columns[0].name.find_first_of(",;\t|") != std::string::npos;
  }

  // Whether most of the names are numbers.
  bool LooksLikeData() const {
    const auto numbers =
        std::count_if(layout_.columns.begin(), layout_.columns.end(), [](const CsvColumn& column) {
          double value = 0;
          return ParseWholeNumber(column.name, &value);
        });
    return 2 * static_cast<size_t>(numbers) > layout_.columns.size();
  }

  // "name" or "first..last".
  absl::StatusOr<std::pair<size_t, size_t>> FindRange(const std::string& text) const {
    const size_t dots = text.find("..");
    if (index_.contains(text) || dots == std::string::npos) {
      MERCER_ASSIGN_OR_RETURN(const size_t i, Find(text, "a block"));
      return std::pair(i, i);
    }
    MERCER_ASSIGN_OR_RETURN(const size_t first, Find(text.substr(0, dots), "a block"));
    MERCER_ASSIGN_OR_RETURN(const size_t last, Find(text.substr(dots + 2), "a block"));
    if (first > last) {
      return HeaderError(text, absl::StrCat("the range ", Quoted(text), " runs backwards"));
    }
    return std::pair(first, last);
  }

  absl::Status AddToBlock(std::string_view block_name, size_t i) {
    CsvColumn& column = layout_.columns[i];
    if (column.role != ColumnRole::kFeature) {
      return HeaderError(column.name, absl::StrCat("column ", Quoted(column.name), " has the role ",
                                                   std::string(ColumnRoleName(column.role)),
                                                   " and is in the block ", Quoted(block_name)));
    }
    if (in_block_[i]) {
      return HeaderError(column.name,
                         absl::StrCat("column ", Quoted(column.name), " is in a block twice"));
    }
    auto block = std::find_if(layout_.blocks.begin(), layout_.blocks.end(),
                              [&](const CsvBlock& other) { return other.name == block_name; });
    if (block == layout_.blocks.end()) {
      block = layout_.blocks.insert(block, CsvBlock{std::string(block_name), 0});
    }
    in_block_[i] = true;
    column.block = static_cast<size_t>(block - layout_.blocks.begin());
    column.position = block->width++;
    return absl::OkStatus();
  }

  CsvLayout layout_;
  HashMap<std::string, size_t> index_;
  std::vector<bool> in_block_;
};

absl::Status CheckName(const std::string& name, size_t number, bool is_last) {
  if (!IsCleanText(name)) {
    return HeaderError(name, absl::StrCat("the name of column ", number,
                                          " is binary data or not UTF-8: ", Quoted(name),
                                          "; save the file as CSV in UTF-8"));
  }
  if (name.find_first_of("\r\n") != std::string::npos) {
    return HeaderError(
        name, absl::StrCat("the name of column ", number, " has a line break: ", Quoted(name)));
  }
  if (name.empty()) {
    return HeaderError(absl::StrCat(number),
                       absl::StrCat("column ", number, " has no name; give it one, or leave it out",
                                    number == 1 ? ": pandas writes its index so, unless it is told "
                                                  "index=False"
                                    : is_last   ? ": the delimiter at the end of the line begins it"
                                                : ""));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadCsvNames(std::string_view first_record,
                                                      const CsvOptions& options) {
  std::vector<std::string> names;
  HashSet<std::string> seen;
  CsvCells cells(first_record, options.delimiter);
  while (!cells.AtEnd()) {
    const absl::StatusOr<CsvCell> cell = cells.Next();
    if (!cell.ok()) {
      return HeaderError("",
                         absl::StrCat("in the first line ", std::string(cell.status().message())));
    }
    if (names.size() == options.max_columns) {
      return HeaderError("", absl::StrCat("more than ", options.max_columns, " columns"));
    }
    std::string name =
        options.has_header ? std::string(cell->text) : absl::StrCat("c", names.size() + 1);
    MERCER_RETURN_IF_ERROR(CheckName(name, names.size() + 1, cells.AtEnd()));
    if (!seen.insert(name).second) {
      const auto first = std::find(names.begin(), names.end(), name) - names.begin();
      return HeaderError(
          name,
          absl::StrCat("the columns ", first + 1, " and ", names.size() + 1, " are both named ",
                       Quoted(name), ": rename one of them; or is the first line data?"),
          "csv.no_header");
    }
    names.push_back(std::move(name));
  }
  return names;
}

absl::StatusOr<CsvLayout> MakeCsvLayout(const std::vector<std::string>& names,
                                        const CsvOptions& options) {
  LayoutBuilder builder(names);
  MERCER_RETURN_IF_ERROR(builder.ApplyRoles(options.roles));
  MERCER_RETURN_IF_ERROR(builder.ApplyType(options.categorical, CsvType::kCategorical));
  MERCER_RETURN_IF_ERROR(builder.ApplyType(options.numeric, CsvType::kNumeric));
  for (const BlockColumns& block : options.blocks) {
    MERCER_RETURN_IF_ERROR(builder.ApplyBlock(block));
  }
  return std::move(builder).Finish();
}

}  // namespace mercer

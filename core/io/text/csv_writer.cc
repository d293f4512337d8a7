#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/io/text/readers.h"

namespace mercer {
namespace {

// One column of the file: where its values come from.
struct Source {
  std::string name;
  const ColumnSchema* schema = nullptr;  // null: numeric
  const FeatureBlock* block = nullptr;
  Index column = 0;
  const Vector* values = nullptr;  // instead of the block
};

bool NeedsQuotes(std::string_view text, char delimiter) {
  for (const std::string& mark : CsvOptions().missing) {
    if (text == mark) {
      return true;  // unquoted it would mean "missing"
    }
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    return true;  // unquoted it would be dropped at the beginning of the file
  }
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  return text.empty() || is_space(text.front()) || is_space(text.back()) ||
         text.find(delimiter) != std::string_view::npos ||
         text.find_first_of("\"\r\n") != std::string_view::npos;
}

void AppendText(std::string_view text, char delimiter, std::string& out) {
  if (!NeedsQuotes(text, delimiter)) {
    out.append(text);
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    out.append(c == '"' ? 2 : 1, c);
  }
  out.push_back('"');
}

void AppendNumber(double value, std::string& out) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof(digits),
                                          value);  // shortest text that reads back exactly
  out.append(digits, end);
}

class Writer {
 public:
  Writer(const Dataset& dataset, char delimiter) : dataset_(dataset), delimiter_(delimiter) {
    for (const FeatureBlock& block : dataset.blocks) {
      for (Index column = 0; column < block.num_columns(); ++column) {
        const auto i = static_cast<size_t>(column);
        const ColumnSchema* schema = i < block.columns.size() ? &block.columns[i] : nullptr;
        const bool named = schema != nullptr && !schema->name.empty();
        AddSource(
            {named ? schema->name : absl::StrCat(column + 1), schema, &block, column, nullptr},
            block.name);
      }
    }
    for (const RoleColumn& column : dataset.role_columns) {
      AddSource({column.schema.name, &column.schema, nullptr, 0, &column.values},
                ColumnRoleName(column.role));
    }
  }

  std::string Write() {
    for (size_t i = 0; i < sources_.size(); ++i) {
      out_.append(i == 0 ? 0 : 1, delimiter_);
      AppendText(sources_[i].name, delimiter_, out_);
    }
    out_.push_back('\n');
    for (Index row = 0; row < dataset_.rows; ++row) {
      WriteRow(row);
    }
    return std::move(out_);
  }

 private:
  // Names that occur in several blocks get the block's name in front.
  void AddSource(Source source, std::string_view block_name) {
    while (!names_.insert(source.name).second) {
      source.name = absl::StrCat(std::string(block_name), ".", source.name);
    }
    sources_.push_back(std::move(source));
  }

  void WriteRow(Index row) {
    const FeatureBlock* last_sparse = nullptr;
    int64_t entry = 0;  // next entry of the sparse row
    for (size_t i = 0; i < sources_.size(); ++i) {
      const Source& source = sources_[i];
      out_.append(i == 0 ? 0 : 1, delimiter_);
      if (source.values != nullptr) {
        WriteCell((*source.values)(row), source.schema);
        continue;
      }
      if (!source.block->is_sparse) {
        WriteCell(source.block->values.view()(row, source.column), source.schema);
        continue;
      }
      const SparseRows& sparse = source.block->sparse;
      if (source.block != last_sparse) {
        last_sparse = source.block;
        entry = sparse.row_starts[static_cast<size_t>(row)];
      }
      const bool set = entry < sparse.row_starts[static_cast<size_t>(row) + 1] &&
                       sparse.column_indices[static_cast<size_t>(entry)] == source.column;
      WriteCell(set ? sparse.values[static_cast<size_t>(entry)] : 0.0, nullptr);
      entry += set ? 1 : 0;
    }
    out_.push_back('\n');
  }

  void WriteCell(double value, const ColumnSchema* schema) {
    if (std::isnan(value)) {
      out_.append(sources_.size() == 1 ? "\"\"" : "");  // an empty line would be a blank line
    } else if (schema != nullptr && schema->categorical) {
      AppendText(schema->categories[static_cast<size_t>(value)], delimiter_, out_);
    } else {
      AppendNumber(value, out_);
    }
  }

  const Dataset& dataset_;
  char delimiter_;
  std::vector<Source> sources_;
  HashSet<std::string> names_;
  std::string out_;
};

}  // namespace

std::string WriteCsv(const Dataset& dataset, char delimiter) {
  return Writer(dataset, delimiter).Write();
}

}  // namespace mercer

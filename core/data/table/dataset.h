// A data set: immutable rows with named feature blocks, square matrices, and columns with a role.
//
// Readers only type columns. A numeric column holds numbers; a categorical column holds codes 0, 1,
// ... into its dictionary of category names, stored as doubles so that one block is one matrix. NaN
// means missing. One-hot coding, scaling and imputation belong to the model (preprocessing.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"

namespace mercer {

// An immutable row-major matrix whose memory may belong to anything (a buffer, a mapped file).
// Copies share the memory. The first element is 64-byte aligned.
class SharedMatrix {
 public:
  SharedMatrix() = default;
  explicit SharedMatrix(RowMatrix values);
  // `data` must stay valid and unchanged for as long as `owner` lives.
  SharedMatrix(std::shared_ptr<const void> owner, const double* data, Index rows, Index columns);
  // The same for pages of a file.
  static SharedMatrix InFile(std::shared_ptr<const void> owner, const double* data, Index rows,
                             Index columns);

  Index rows() const { return rows_; }
  Index cols() const { return columns_; }
  // Its bytes are in a file, so that they need no memory to be there.
  bool in_file() const { return in_file_; }
  Eigen::Map<const RowMatrix> view() const { return {data_, rows_, columns_}; }

 private:
  std::shared_ptr<const void> owner_;
  const double* data_ = nullptr;
  Index rows_ = 0;
  Index columns_ = 0;
  bool in_file_ = false;
};

// Rows in compressed form: the entries of row i are at positions row_starts[i] .. row_starts[i + 1]
// - 1, columns ascending.
struct SparseRows {
  Index columns = 0;
  std::vector<int64_t> row_starts = {0};
  std::vector<int32_t> column_indices;
  std::vector<double> values;

  Index rows() const { return static_cast<Index>(row_starts.size()) - 1; }
};

enum class ColumnRole : uint8_t {
  kFeature = 0,
  kTarget = 1,
  kTask = 2,
  kWeight = 3,
  kGroup = 4,
  kSplit = 5,
  kIgnored = 6
};

std::string_view ColumnRoleName(ColumnRole role);

// Name and type of a column.
struct ColumnSchema {
  std::string name;
  bool categorical = false;
  // The name of each code of a categorical column, in the order of first appearance.
  std::vector<std::string> categories;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.name, self.categorical, self.categories);
  }
};

// Feature columns that belong together: a sensor, a descriptor, all columns of a file. Dense or
// sparse; a sparse block is numeric throughout.
struct FeatureBlock {
  std::string name;
  // The columns; empty for a sparse block, whose columns are known by their index from 1.
  std::vector<ColumnSchema> columns;
  bool is_sparse = false;
  SharedMatrix values;  // dense: rows x columns
  SparseRows sparse;

  Index num_columns() const { return is_sparse ? sparse.columns : values.cols(); }
};

enum class SquareKind : uint8_t { kKernel = 0, kDistance = 1 };

// A precomputed matrix over the rows. A training set holds rows x rows; rows to predict hold rows x
// training rows.
struct SquareBlock {
  std::string name;
  SquareKind kind = SquareKind::kKernel;
  SharedMatrix values;
};

// Entries of a square block that differ by this part of the largest one differ by rounding.
inline constexpr double kSquareRounding = 1e-8;

// A column that is not a feature.
struct RoleColumn {
  ColumnRole role = ColumnRole::kTarget;
  ColumnSchema schema;
  Vector values;
};

// The default name of the one block of a file whose reader was told of no blocks.
inline constexpr std::string_view kDefaultBlock = "features";

struct Dataset {
  Index rows = 0;
  std::vector<FeatureBlock> blocks;
  std::vector<SquareBlock> squares;
  std::vector<RoleColumn> role_columns;

  // Null when there is none of that name. `FindColumn` with an empty name returns the first column
  // of the role.
  const FeatureBlock* FindBlock(std::string_view name) const;
  const SquareBlock* FindSquare(std::string_view name) const;
  const RoleColumn* FindColumn(ColumnRole role, std::string_view name = {}) const;

  // The memory that the data set occupies: bytes of the values, but for those that are in a file.
  size_t MemoryBytes() const;
};

// Checks what every consumer relies on: at least one row, equal row counts, unique names, codes
// inside their dictionaries, no infinities (row and column are named), square blocks with `rows`
// rows.
absl::Status ValidateDataset(const Dataset& dataset);
// The same but for the values in dense blocks, which were looked at before.
absl::Status ValidateAroundDenseValues(const Dataset& dataset);

// The longest name of a column, a block, a square block or a category.
inline constexpr size_t kMaxNameBytes = 1024;
inline constexpr size_t kMaxCategoryBytes = size_t{64} << 10;

// Asked where data comes in, not of data that is kept: names are written into every model and many
// messages. Errors: kInvalidArgument with reason BAD_HEADER.
absl::Status CheckNameLengths(const Dataset& dataset);

// The rows `rows` (indices into `dataset`, repeated ones allowed) as a data set of their own. A
// square block keeps its columns.
Dataset SelectRows(const Dataset& dataset, const std::vector<Index>& rows);

}  // namespace mercer

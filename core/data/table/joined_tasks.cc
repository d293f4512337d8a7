#include "core/data/table/joined_tasks.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/numeric/index_range.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kPollRows = 4096;

absl::Status Differs(const NamedTask& task, const std::string& what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("task '", task.name, "': ", what)),
                    "DIFFERENT_COLUMNS", {{"task", task.name}});
}

std::string TypeName(bool categorical) { return categorical ? "categorical" : "numeric"; }

// Categories of all tasks under codes of their own, in order of first appearance.
class CategoryUnion {
 public:
  std::vector<double> Add(const std::vector<std::string>& categories) {
    std::vector<double> codes;
    for (const std::string& category : categories) {
      const auto [entry, is_new] = codes_.emplace(category, static_cast<double>(names_.size()));
      if (is_new) {
        names_.push_back(category);
      }
      codes.push_back(entry->second);
    }
    return codes;
  }
  const std::vector<std::string>& names() const { return names_; }

 private:
  HashMap<std::string, double> codes_;
  std::vector<std::string> names_;
};

double Recoded(double value, const std::vector<double>& codes) {
  return codes.empty() || std::isnan(value) ? value : codes[static_cast<size_t>(value)];
}

bool HasColumnNamed(std::string_view name, const Dataset& dataset) {
  const auto is_it = [&](const ColumnSchema& column) { return column.name == name; };
  return std::any_of(dataset.role_columns.begin(), dataset.role_columns.end(),
                     [&](const RoleColumn& column) { return is_it(column.schema); }) ||
         std::any_of(dataset.blocks.begin(), dataset.blocks.end(), [&](const FeatureBlock& block) {
           return std::any_of(block.columns.begin(), block.columns.end(), is_it);
         });
}

// The first task says which blocks and columns there are; those of every other task must have the
// same names and types, in whatever order.
class TaskJoiner {
 public:
  TaskJoiner(const std::vector<NamedTask>& tasks, bool with_values, const RunContext& context)
      : tasks_(tasks), with_values_(with_values), first_(*tasks.front().rows), context_(context) {
    for (const NamedTask& task : tasks) {
      joined_.rows += task.rows->rows;
    }
  }

  absl::StatusOr<Dataset> Join() {
    MERCER_RETURN_IF_ERROR(CheckParts());
    for (const FeatureBlock& block : first_.blocks) {
      MERCER_RETURN_IF_ERROR(block.is_sparse ? JoinSparse(block.name) : JoinDense(block));
    }
    for (const RoleColumn& column : first_.role_columns) {
      if (column.role != ColumnRole::kIgnored) {
        MERCER_RETURN_IF_ERROR(JoinRole(column));
      }
    }
    AddTaskColumn();
    return std::move(joined_);
  }

 private:
  // What can be said without looking at single columns of blocks.
  absl::Status CheckParts() const {
    for (const NamedTask& task : tasks_) {
      if (!task.rows->squares.empty()) {
        return Differs(task, absl::StrCat("has the square block '", task.rows->squares[0].name,
                                          "', which says nothing of the rows of other tasks"));
      }
      if (const RoleColumn* own = task.rows->FindColumn(ColumnRole::kTask); own != nullptr) {
        return Differs(task, absl::StrCat("has the task column '", own->schema.name,
                                          "'; a data set that is a task has none"));
      }
      if (HasColumnNamed(kJoinedTaskColumn, *task.rows)) {
        return Differs(task, absl::StrCat("has a column '", kJoinedTaskColumn,
                                          "', as the column of the tasks is called"));
      }
      MERCER_RETURN_IF_ERROR(CheckBlocks(task));
      MERCER_RETURN_IF_ERROR(CheckRoles(task));
    }
    return absl::OkStatus();
  }

  absl::Status CheckBlocks(const NamedTask& task) const {
    for (const FeatureBlock& block : task.rows->blocks) {
      const FeatureBlock* other = first_.FindBlock(block.name);
      if (other == nullptr) {
        return Differs(task, absl::StrCat("has the block '", block.name, "', which task '",
                                          tasks_[0].name, "' has not"));
      }
      if (other->is_sparse != block.is_sparse) {
        return Differs(task, absl::StrCat("its block '", block.name, "' is ",
                                          block.is_sparse ? "sparse" : "dense", ", that of task '",
                                          tasks_[0].name, "' is not"));
      }
    }
    for (const FeatureBlock& block : first_.blocks) {
      if (task.rows->FindBlock(block.name) == nullptr) {
        return Differs(task, absl::StrCat("has no block '", block.name, "'"));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckRoles(const NamedTask& task) const {
    for (const RoleColumn& column : task.rows->role_columns) {
      if (column.role != ColumnRole::kIgnored &&
          first_.FindColumn(column.role, column.schema.name) == nullptr) {
        return Differs(
            task, absl::StrCat("has the ", std::string(ColumnRoleName(column.role)), " column '",
                               column.schema.name, "', which task '", tasks_[0].name, "' has not"));
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<Index>> PositionsWithoutNames(const FeatureBlock& block,
                                                           const FeatureBlock& own,
                                                           const NamedTask& task) const {
    if (!block.columns.empty() || !own.columns.empty() ||
        own.num_columns() != block.num_columns()) {
      return Differs(task, absl::StrCat("block '", block.name, "' has ", own.num_columns(),
                                        " columns, that of task '", tasks_[0].name, "' ",
                                        block.num_columns(), ", and they have no names"));
    }
    return IndexRange(0, block.num_columns());
  }

  // Where the columns of the first task stand in the block of another.
  absl::StatusOr<std::vector<Index>> Positions(const FeatureBlock& block,
                                               const NamedTask& task) const {
    const FeatureBlock& own = *task.rows->FindBlock(block.name);
    if (block.columns.empty() || own.columns.empty()) {
      return PositionsWithoutNames(block, own, task);
    }
    HashMap<std::string, Index> known;
    for (size_t c = 0; c < own.columns.size(); ++c) {
      known.emplace(own.columns[c].name, static_cast<Index>(c));
    }
    std::vector<Index> positions;
    for (const ColumnSchema& column : block.columns) {
      const auto found = known.find(column.name);
      if (found == known.end()) {
        return Differs(task,
                       absl::StrCat("block '", block.name, "' has no column '", column.name, "'"));
      }
      const bool categorical = own.columns[static_cast<size_t>(found->second)].categorical;
      if (categorical != column.categorical) {
        return Differs(task, absl::StrCat("column '", column.name, "' is ", TypeName(categorical),
                                          ", that of task '", tasks_[0].name, "' is ",
                                          TypeName(column.categorical)));
      }
      positions.push_back(found->second);
      known.erase(found);
    }
    if (!known.empty()) {
      return Differs(task,
                     absl::StrCat("block '", block.name, "' has the column '", known.begin()->first,
                                  "', which task '", tasks_[0].name, "' has not"));
    }
    return positions;
  }

  absl::Status JoinDense(const FeatureBlock& block) {
    RowMatrix values(with_values_ ? joined_.rows : 0, block.num_columns());
    std::vector<CategoryUnion> categories(block.columns.size());
    Index begin = 0;
    for (const NamedTask& task : tasks_) {
      MERCER_ASSIGN_OR_RETURN(const std::vector<Index> positions, Positions(block, task));
      const FeatureBlock& own = *task.rows->FindBlock(block.name);
      std::vector<std::vector<double>> codes(positions.size());
      for (size_t c = 0; c < block.columns.size(); ++c) {
        const ColumnSchema& column = own.columns[static_cast<size_t>(positions[c])];
        if (column.categorical) {
          codes[c] = categories[c].Add(column.categories);
        }
      }
      if (!with_values_) {
        continue;
      }
      const auto from = own.values.view();
      for (Index row = 0; row < from.rows(); ++row) {
        if (row % kPollRows == 0) {
          MERCER_RETURN_IF_ERROR(context_.CheckCancelled());
        }
        for (size_t c = 0; c < positions.size(); ++c) {
          values(begin + row, static_cast<Index>(c)) = Recoded(from(row, positions[c]), codes[c]);
        }
      }
      begin += from.rows();
    }
    FeatureBlock& joined = joined_.blocks.emplace_back();
    joined.name = block.name;
    joined.columns = block.columns;
    for (size_t c = 0; c < joined.columns.size(); ++c) {
      joined.columns[c].categories = categories[c].names();
    }
    joined.values = with_values_
                        ? SharedMatrix(std::move(values))
                        : SharedMatrix(nullptr, nullptr, joined_.rows, block.num_columns());
    return absl::OkStatus();
  }

  // Rows one below the other: entries are appended, and where rows start is shifted by what came
  // before.
  absl::Status JoinSparse(const std::string& name) {
    FeatureBlock& joined = joined_.blocks.emplace_back();
    joined.name = name;
    joined.is_sparse = true;
    SparseRows& all = joined.sparse;
    size_t entries = 0;
    for (const NamedTask& task : tasks_) {
      entries += task.rows->FindBlock(name)->sparse.values.size();
    }
    all.row_starts.reserve(static_cast<size_t>(joined_.rows) + 1);
    all.column_indices.reserve(entries);
    all.values.reserve(entries);
    for (const NamedTask& task : tasks_) {
      MERCER_RETURN_IF_ERROR(context_.CheckCancelled());
      const SparseRows& own = task.rows->FindBlock(name)->sparse;
      const int64_t before = all.row_starts.back();
      for (Index row = 0; row < own.rows(); ++row) {
        all.row_starts.push_back(before + own.row_starts[static_cast<size_t>(row) + 1]);
      }
      all.columns = std::max(all.columns, own.columns);
      all.column_indices.insert(all.column_indices.end(), own.column_indices.begin(),
                                own.column_indices.end());
      all.values.insert(all.values.end(), own.values.begin(), own.values.end());
    }
    return absl::OkStatus();
  }

  absl::Status JoinRole(const RoleColumn& column) {
    RoleColumn joined = column;
    joined.values.resize(joined_.rows);
    CategoryUnion categories;
    Index begin = 0;
    for (const NamedTask& task : tasks_) {
      const RoleColumn* own = task.rows->FindColumn(column.role, column.schema.name);
      if (own == nullptr) {
        return Differs(task, absl::StrCat("has no ", std::string(ColumnRoleName(column.role)),
                                          " column '", column.schema.name, "'"));
      }
      if (own->schema.categorical != column.schema.categorical) {
        return Differs(task,
                       absl::StrCat("column '", column.schema.name, "' is ",
                                    TypeName(own->schema.categorical), ", that of task '",
                                    tasks_[0].name, "' is ", TypeName(column.schema.categorical)));
      }
      const std::vector<double> codes =
          own->schema.categorical ? categories.Add(own->schema.categories) : std::vector<double>();
      for (Index row = 0; row < own->values.size(); ++row) {
        joined.values(begin + row) = Recoded(own->values(row), codes);
      }
      begin += own->values.size();
    }
    joined.schema.categories = categories.names();
    joined_.role_columns.push_back(std::move(joined));
    return absl::OkStatus();
  }

  void AddTaskColumn() {
    RoleColumn column{ColumnRole::kTask, {kJoinedTaskColumn, true, {}}, Vector(joined_.rows)};
    Index begin = 0;
    for (const NamedTask& task : tasks_) {
      column.values.segment(begin, task.rows->rows)
          .setConstant(static_cast<double>(column.schema.categories.size()));
      column.schema.categories.push_back(task.name);
      begin += task.rows->rows;
    }
    joined_.role_columns.push_back(std::move(column));
  }

  const std::vector<NamedTask>& tasks_;
  const bool with_values_;
  const Dataset& first_;
  const RunContext& context_;
  Dataset joined_;
};

// The memory that the joined rows take.
size_t JoinedBytes(const std::vector<NamedTask>& tasks) {
  ByteCount bytes(0);
  for (const NamedTask& task : tasks) {
    for (const FeatureBlock& block : task.rows->blocks) {
      const size_t entries = block.is_sparse
                                 ? 2 * block.sparse.values.size()
                                 : static_cast<size_t>(block.values.rows() * block.values.cols());
      bytes = bytes + ByteCount(entries) * ByteCount(sizeof(double));
    }
    bytes = bytes + ByteCount(task.rows->rows) * ByteCount(task.rows->role_columns.size() + 2) *
                        ByteCount(sizeof(double));
  }
  return bytes.value();
}

absl::Status CheckSize(const std::vector<NamedTask>& tasks, size_t limit_bytes) {
  if (tasks.empty()) {
    return absl::InvalidArgumentError("there are no tasks");
  }
  if (const size_t bytes = JoinedBytes(tasks); bytes > limit_bytes) {
    return WithReason(
        absl::ResourceExhaustedError(absl::StrCat(
            "the data sets take ", bytes, " bytes together, at most ", limit_bytes,
            " are joined; upload them as one data set with a column of the role task")),
        "JOINED_TASKS_TOO_LARGE",
        {{"limit_bytes", absl::StrCat(limit_bytes)}, {"got_bytes", absl::StrCat(bytes)}});
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Dataset> JoinTasks(const std::vector<NamedTask>& tasks, size_t limit_bytes,
                                  const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckSize(tasks, limit_bytes));
  return TaskJoiner(tasks, true, context).Join();
}

absl::StatusOr<Dataset> ShapeOfJoinedTasks(const std::vector<NamedTask>& tasks,
                                           size_t limit_bytes) {
  MERCER_RETURN_IF_ERROR(CheckSize(tasks, limit_bytes));
  return TaskJoiner(tasks, false, RunContext()).Join();
}

}  // namespace mercer

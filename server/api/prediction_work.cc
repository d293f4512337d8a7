#include "server/api/prediction_work.h"

#include <algorithm>

namespace mercer::server {

int64_t WorkPerRow(const Model& model, bool contributions) {
  const int64_t columns = std::max<int64_t>(model.preprocessing.num_outputs(), 1);
  int64_t work = columns + model.function.num_outputs();
  for (const KernelTerm& term : model.function.kernel_terms) {
    const int64_t kernels = static_cast<int64_t>(term.kernels.size());
    const int64_t evaluation = term.coefficients.rows() * (columns + 8 * kernels);
    const int64_t sums = term.coefficients.nonZeros() * (contributions ? kernels : 1);
    work += (contributions ? 2 : 1) * evaluation + sums;
  }
  for (const FeatureTerm& term : model.function.feature_terms) {
    const auto groups = static_cast<int64_t>(term.groups.size());
    work += groups * (columns + 16) +
            (contributions ? 2 : 1) * static_cast<int64_t>(term.coefficients.size());
  }
  return work;
}

int64_t ClaimedRows(const v1::Rows& rows) {
  int64_t count = 0;
  for (const v1::DenseBlock& block : rows.dense()) {
    count = std::max(count, block.values().rows());
  }
  for (const v1::SparseBlock& block : rows.sparse()) {
    count = std::max<int64_t>(count, block.row_starts_size());
  }
  for (const v1::TypedColumn& column : rows.columns()) {
    count = std::max<int64_t>(
        count, column.has_texts() ? column.texts().values_size() : column.numbers().values_size());
  }
  for (const v1::SquareRows& square : rows.squares()) {
    count = std::max(count, square.values().rows());
  }
  return count;
}

int64_t RowsPerBatch(const Model& model) {
  // A row among others costs a quarter of a row alone.
  return std::clamp<int64_t>(4 * kMillisecondOfWork / WorkPerRow(model, false), 8, 256);
}

}  // namespace mercer::server

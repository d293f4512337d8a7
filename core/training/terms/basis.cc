#include "core/training/terms/basis.h"

#include <algorithm>

namespace mercer {

std::vector<std::string> BlockNames(const PreparedData& data) {
  std::vector<std::string> names;
  for (const PreparedBlock& block : data.blocks) {
    names.push_back(block.name);
  }
  return names;
}

std::vector<std::string> BlocksOfKernels(const PreparedData& inputs,
                                         const std::vector<KernelSpec>& kernels) {
  std::vector<bool> read(inputs.blocks.size(), false);
  for (const KernelSpec& kernel : kernels) {
    if (ReadsSquare(kernel)) {
      continue;
    }
    for (size_t b = 0; b < inputs.blocks.size(); ++b) {
      // A kernel without a block reads all blocks side by side.
      read[b] = read[b] || kernel.block.empty() || kernel.block == inputs.blocks[b].name;
    }
  }
  std::vector<std::string> names;
  for (size_t b = 0; b < inputs.blocks.size(); ++b) {
    if (read[b]) {
      names.push_back(inputs.blocks[b].name);
    }
  }
  return names;
}

bool HasBasis(const PreparedData& inputs, const std::vector<Index>& rows,
              const std::vector<std::string>& blocks) {
  return std::all_of(rows.begin(), rows.end(),
                     [&](Index row) { return row >= 0 && row < inputs.rows; }) &&
         std::all_of(blocks.begin(), blocks.end(),
                     [&](const std::string& name) { return inputs.FindBlock(name) != nullptr; });
}

std::shared_ptr<const PreparedData> SelectBasis(const PreparedData& inputs,
                                                const std::vector<Index>& rows,
                                                const std::vector<std::string>& blocks) {
  if (!HasBasis(inputs, rows, blocks)) {
    return nullptr;
  }
  PreparedData view;  // shares the memory of the blocks
  view.rows = inputs.rows;
  for (const std::string& name : blocks) {
    view.blocks.push_back(*inputs.FindBlock(name));
  }
  auto selected = std::make_shared<PreparedData>(SelectRows(view, rows));
  selected->row_numbers.clear();  // a model's basis stands for itself
  return selected;
}

Basis BasisByNumber(std::vector<Index> training_rows, const std::vector<std::string>& blocks) {
  auto data = std::make_shared<PreparedData>();
  data->rows = static_cast<Index>(training_rows.size());
  for (const std::string& name : blocks) {
    data->blocks.push_back({name, {}, {}});
  }
  return {std::move(data), std::move(training_rows)};
}

void DropBasisValues(std::vector<Basis>& bases) {
  for (Basis& basis : bases) {
    if (!basis.training_rows.empty()) {
      basis = BasisByNumber(std::move(basis.training_rows), BlockNames(*basis.data));
    }
  }
}

}  // namespace mercer

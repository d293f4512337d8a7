// The rows that terms refer to, taken from a table of inputs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_formula.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Rows that terms refer to: the blocks that their kernels read, and nothing else.
struct Basis {
  std::shared_ptr<const PreparedData> data;  // rows of the basis; no square blocks
  // The number of each basis row among the training rows (precomputed kernels read that column).
  // Empty for landmarks that are not training rows.
  std::vector<Index> training_rows;

  static void VisitFields(auto& visit, auto& self) { visit(self.training_rows, self.data); }
};

// True for kernels that read a square block.
inline bool ReadsSquare(const KernelSpec& kernel) { return IsSquareType(kernel.type); }

std::vector<std::string> BlockNames(const PreparedData& data);

// Names of the feature blocks of `inputs` that `kernels` read, in the order of `inputs`.
std::vector<std::string> BlocksOfKernels(const PreparedData& inputs,
                                         const std::vector<KernelSpec>& kernels);

// True when `inputs` has these rows and feature blocks.
bool HasBasis(const PreparedData& inputs, const std::vector<Index>& rows,
              const std::vector<std::string>& blocks);

// The rows `rows` of the named feature blocks of `inputs`, copied; no square blocks. Null when a
// block or a row does not exist.
std::shared_ptr<const PreparedData> SelectBasis(const PreparedData& inputs,
                                                const std::vector<Index>& rows,
                                                const std::vector<std::string>& blocks);

// A basis of training rows by number, with the names of its blocks and without their values: what a
// part of a run keeps while others run.
Basis BasisByNumber(std::vector<Index> training_rows, const std::vector<std::string>& blocks);
// Takes the values out of bases that are training rows, of which the numbers remain; landmarks keep
// their values.
void DropBasisValues(std::vector<Basis>& bases);

}  // namespace mercer

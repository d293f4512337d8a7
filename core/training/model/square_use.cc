#include "core/training/model/square_use.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <variant>

#include "core/kernels/spec/kernel_formula.h"

namespace mercer {
namespace {

// The numbers of the training rows at which a term with kernels of square blocks has coefficients.
std::vector<Index> TrainingRowsOf(const Term& term, const std::vector<Basis>& bases) {
  std::vector<std::vector<bool>> used;
  for (const Basis& basis : bases) {
    const size_t rows =
        basis.data == nullptr ? basis.training_rows.size() : static_cast<size_t>(basis.data->rows);
    used.emplace_back(rows, false);
  }
  term.MarkRows(used);
  std::vector<Index> rows;
  for (size_t b = 0; b < bases.size(); ++b) {
    for (size_t i = 0; i < bases[b].training_rows.size(); ++i) {
      if (used[b][i]) {
        rows.push_back(bases[b].training_rows[i]);
      }
    }
  }
  return rows;
}

// The square block that a kernel reads: where it names none, the only one. Empty: it is not known.
std::string BlockOf(const KernelSpec& kernel, const Model& model) {
  const std::vector<std::string>& known = model.preprocessing.squares();
  return kernel.block.empty() && known.size() == 1 ? known[0] : kernel.block;
}

}  // namespace

std::vector<SquareUse> SquaresInUse(const Model& model) {
  struct Use {
    SquareKind kind;
    std::set<Index> columns;
  };
  std::map<std::string, Use> uses;
  for (const std::shared_ptr<const Term>& term : model.function.terms) {
    std::map<std::string, SquareKind> of_term;
    for (const KernelSpec& kernel : term->Kernels()) {
      const auto* kind = std::get_if<SquareKind>(&FormulaOf(kernel.type).reads);
      if (kind != nullptr && !BlockOf(kernel, model).empty()) {
        of_term[BlockOf(kernel, model)] = *kind;
      }
    }
    if (of_term.empty()) {
      continue;
    }
    const std::vector<Index> rows = TrainingRowsOf(*term, model.function.bases);
    for (const auto& [name, kind] : of_term) {
      uses[name].kind = kind;
      uses[name].columns.insert(rows.begin(), rows.end());
    }
  }
  for (const SquareRepair& repair : model.preprocessing.repairs()) {
    const auto use = uses.find(repair.block);
    if (use != uses.end() && repair.vectors.size() > 0) {
      use->second.columns.insert(repair.rows.begin(), repair.rows.end());
    }
  }
  std::vector<SquareUse> squares;
  for (const auto& [name, use] : uses) {
    squares.push_back({name, use.kind, {use.columns.begin(), use.columns.end()}});
  }
  return squares;
}

bool ReadsUnnamedSquare(const Model& model) {
  const auto is_unnamed = [&](const KernelSpec& kernel) {
    return FormulaOf(kernel.type).is_square() && BlockOf(kernel, model).empty();
  };
  return std::any_of(model.function.terms.begin(), model.function.terms.end(),
                     [&](const std::shared_ptr<const Term>& term) {
                       const absl::Span<const KernelSpec> kernels = term->Kernels();
                       return std::any_of(kernels.begin(), kernels.end(), is_unnamed);
                     });
}

}  // namespace mercer

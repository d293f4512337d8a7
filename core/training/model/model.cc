#include "core/training/model/model.h"

#include <algorithm>
#include <set>

#include "core/kernels/spec/kernel_labels.h"
#include "core/training/terms/basis.h"
#include "core/training/terms/term_encoding.h"

namespace mercer {
namespace {

// Bases with equal block lists become one basis over the union of their training rows; landmarks
// stay apart.
class BasisUnion {
 public:
  // Returns the position of the united basis in which the rows of `basis` will be.
  int Add(const Basis& basis) {
    if (basis.training_rows.empty()) {
      groups_.push_back({{}, basis.data, {}});
      return static_cast<int>(groups_.size()) - 1;
    }
    const std::vector<std::string> names = BlockNames(*basis.data);
    size_t g = 0;
    while (g < groups_.size() && (groups_[g].rows.empty() || groups_[g].names != names)) {
      ++g;
    }
    if (g == groups_.size()) {
      groups_.push_back({names, nullptr, {}});
    }
    groups_[g].rows.insert(basis.training_rows.begin(), basis.training_rows.end());
    return static_cast<int>(g);
  }

  std::vector<Basis> Build(const PreparedData& inputs) const {
    std::vector<Basis> bases;
    for (const Group& group : groups_) {
      const std::vector<Index> rows(group.rows.begin(), group.rows.end());
      bases.push_back(rows.empty() ? Basis{group.landmarks, {}}
                                   : Basis{SelectBasis(inputs, rows, group.names), rows});
    }
    return bases;
  }

 private:
  struct Group {
    std::vector<std::string> names;
    std::shared_ptr<const PreparedData> landmarks;
    std::set<Index> rows;  // of the training rows
  };

  std::vector<Group> groups_;
};

// Puts the term behind the others, or its outputs into the first one that tells them together.
void AddTerm(std::shared_ptr<const Term> term, Terms& terms) {
  for (std::shared_ptr<const Term>& known : terms) {
    if (std::shared_ptr<const Term> joined = known->Joined(*term); joined != nullptr) {
      known = std::move(joined);
      return;
    }
  }
  terms.push_back(std::move(term));
}

// The terms of all parts. Neighbours are joined first, so that no coefficient is copied more often
// than the logarithm of the number of parts.
Terms JoinTerms(std::vector<Terms> parts) {
  for (size_t width = 1; width < parts.size(); width *= 2) {
    for (size_t p = 0; p + width < parts.size(); p += 2 * width) {
      for (std::shared_ptr<const Term>& term : parts[p + width]) {
        AddTerm(std::move(term), parts[p]);
      }
      parts[p + width].clear();
    }
  }
  return parts.empty() ? Terms() : std::move(parts.front());
}

}  // namespace

void ModelSummary::SetKernels(const std::vector<KernelSpec>& kernels) {
  const bool several_groups = GroupsOf(kernels).num_groups() > 1;
  for (const KernelSpec& kernel : kernels) {
    kernel_names.push_back(KernelName(kernel));
    if (several_groups) {
      kernel_groups.push_back(kernel.labels.group);
    }
  }
}

ModelFunction MergeOutputs(const std::vector<ModelFunction>& parts, const PreparedData& inputs) {
  BasisUnion bases;
  std::vector<std::vector<int>> united(parts.size());
  Index num_outputs = 0;
  for (size_t p = 0; p < parts.size(); ++p) {
    for (const Basis& basis : parts[p].bases) {
      united[p].push_back(bases.Add(basis));
    }
    num_outputs += parts[p].num_outputs();
  }
  ModelFunction merged;
  merged.bases = bases.Build(inputs);
  merged.bias.resize(num_outputs);
  Index offset = 0;
  std::vector<Terms> terms(parts.size());
  for (size_t p = 0; p < parts.size(); ++p) {
    merged.bias.segment(offset, parts[p].num_outputs()) = parts[p].bias;
    const TermMove move{static_cast<int>(offset), parts[p].bases, merged.bases, united[p]};
    for (const std::shared_ptr<const Term>& term : parts[p].terms) {
      AddTerm(term->Moved(move), terms[p]);
    }
    offset += parts[p].num_outputs();
  }
  merged.terms = JoinTerms(std::move(terms));
  SortTerms(merged.terms);
  return merged;
}

ModelFunction MakeKernelFunction(const PreparedData& inputs, const std::vector<Index>& rows,
                                 const std::vector<KernelSpec>& kernels, ConstVectorRef weights,
                                 ConstVectorRef coefficients, double bias) {
  return MakeKernelFunctions(inputs, rows, kernels, weights, coefficients,
                             Vector::Constant(1, bias));
}

ModelFunction MakeKernelFunctions(const PreparedData& inputs, const std::vector<Index>& rows,
                                  const std::vector<KernelSpec>& kernels, ConstVectorRef weights,
                                  const ConstMatrixRef& coefficients, const Vector& bias) {
  ModelFunction function;
  function.bias = bias;
  KernelTerm term;
  std::vector<double> kept_weights;
  for (size_t k = 0; k < kernels.size(); ++k) {
    if (weights(static_cast<Index>(k)) != 0) {
      term.kernels.push_back(kernels[k]);
      kept_weights.push_back(weights(static_cast<Index>(k)));
    }
  }
  std::vector<Index> kept_rows;
  std::vector<Index> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    if ((coefficients.row(static_cast<Index>(i)).array() != 0).any()) {
      kept_rows.push_back(rows[i]);
      places.push_back(static_cast<Index>(i));
    }
  }
  if (kept_rows.empty() || kept_weights.empty()) {
    return function;
  }
  // The blocks are those that all kernels read, also those of weight 0, so that sub-problems of one
  // run, which may select different kernels, share a basis.
  function.bases.push_back(
      {SelectBasis(inputs, kept_rows, BlocksOfKernels(inputs, kernels)), kept_rows});
  const Index outputs = coefficients.cols();
  const Vector of_kernels =
      Eigen::Map<const Vector>(kept_weights.data(), static_cast<Index>(kept_weights.size()));
  term.weights = of_kernels.replicate(1, outputs);
  term.coefficients.resize(static_cast<Index>(places.size()), outputs);
  term.coefficients.reserve((coefficients.array() != 0).count());
  for (Index o = 0; o < outputs; ++o) {
    term.outputs.push_back(static_cast<int>(o));
    term.coefficients.startVec(o);
    for (size_t i = 0; i < places.size(); ++i) {
      if (coefficients(places[i], o) != 0) {
        term.coefficients.insertBack(static_cast<Index>(i), o) = coefficients(places[i], o);
      }
    }
  }
  term.coefficients.finalize();
  function.terms.push_back(std::make_shared<const KernelTerm>(std::move(term)));
  return function;
}

}  // namespace mercer

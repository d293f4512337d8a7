// The proof that comes with a model: bounds on the optimum, recomputed by code that shares nothing
// with the solver. At the end of a training it reads distances and factors of low rank where the
// cache of the run holds them; at up to 512 training rows the function of the model, evaluated from
// the data alone, must have the values that the bounds are about (VerifyFunction). A verification
// with an empty cache computes everything anew.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"

namespace mercer {

// The relative gap (primal - dual) / max(|primal|, |dual|, 1e-300): the only definition of it,
// everywhere (docs/mathematics/README.md, section 3).
inline double RelativeGap(double primal, double dual) {
  return (primal - dual) / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

// What `accuracy` measures.
enum class CertificateKind : uint8_t {
  kGap = 0,           // relative duality gap: the objective is within that share of the optimum
  kStationarity = 1,  // non-convex problems: the stationarity measure that the learner documents
  kNone = 2,          // greedy methods that solve no optimisation problem
};

// Which problem the bounds are about.
enum class CertificateScope : uint8_t {
  kExactProblem = 0,
  kLowRankProblem = 1,
  kListedFeatures = 2
};

struct OutputBounds {
  double primal = 0;
  double dual = 0;

  static void VisitFields(auto& visit, auto& self) { visit(self.primal, self.dual); }
};

// Totals are sums over outputs (classes, pairs, tasks).
struct Certificate {
  CertificateKind kind = CertificateKind::kGap;
  CertificateScope scope = CertificateScope::kExactProblem;
  double primal = 0;          // value of the objective at the model, an upper bound of the optimum
  double dual = 0;            // a lower bound of the optimum
  double accuracy = 0;        // kGap: RelativeGap(primal, dual)
  double worst_accuracy = 0;  // the largest over the outputs
  std::vector<OutputBounds> outputs;  // one per output when there are several

  double gap() const { return primal - dual; }

  static void VisitFields(auto& visit, auto& self) {
    visit(UpTo(self.kind, CertificateKind::kNone),
          UpTo(self.scope, CertificateScope::kListedFeatures), self.primal, self.dual,
          self.accuracy, self.worst_accuracy, self.outputs);
  }
};

Certificate MakeGapCertificate(double primal, double dual);
// The sum of the certificates of separate outputs.
Certificate SumCertificates(const std::vector<Certificate>& parts);

}  // namespace mercer

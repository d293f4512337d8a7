// What a certificate is recomputed from: dual variables, biases, primal arrays and resolved values
// of one trained point. Stored as a blob of its own beside the model.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"

namespace mercer {

struct TaskWitness {
  Matrix dual;  // rows of the task x outputs, signed: f(x) = sum_i dual(i) k(x_i, x) + bias
  Vector bias;  // one per output

  static void VisitFields(auto& visit, auto& self) { visit(self.dual, self.bias); }
};

struct Witness {
  std::vector<TaskWitness> tasks;
  std::vector<std::pair<std::string, Matrix>> arrays;  // e.g. "weights": kernels x 1
  std::vector<std::pair<std::string, double>> values;  // defaults that were resolved during the run
  std::vector<Witness> children;                       // one per class, pair, ... of a composite

  // The array of that name; null when there is none.
  const Matrix* FindArray(std::string_view name) const;
  const double* FindValue(std::string_view name) const;

  // A composite has children; theirs have none yet. Deeper nesting than this is damage.
  static constexpr int kMaxDepth = 4;

  static void VisitFields(auto& visit, auto& self, int depth) {
    visit.Require([&] { return depth <= kMaxDepth; });
    visit(self.tasks, self.arrays, self.values, Nested(self.children, depth + 1));
  }
};

std::string SaveWitness(const Witness& witness);
// Reads a witness. Errors: kDataLoss.
absl::StatusOr<Witness> LoadWitness(std::string_view bytes);

}  // namespace mercer

// A measure of prediction quality on rows with known targets.
#pragma once

#include <string>

#include "core/base/encoding/saved_fields.h"

namespace mercer {

struct Metric {
  std::string name;  // accuracy, balanced_accuracy, auc, rmse, r2; verifiers name their own
  double value = 0;

  static void VisitFields(auto& visit, auto& self) { visit(self.name, self.value); }
};

}  // namespace mercer

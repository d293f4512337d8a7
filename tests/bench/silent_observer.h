// Of trainings whose progress nobody watches.
#pragma once

#include "core/training/recipe/recipe.h"

namespace mercer {

class SilentObserver final : public RunObserver {
 public:
  void OnProgress(const ProgressEvent& /*event*/) override {}
};

}  // namespace mercer

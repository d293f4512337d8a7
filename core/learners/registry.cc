#include "core/learners/registry.h"

// A program with further learners links this file compiled with a list of its own.
#ifndef MERCER_LEARNERS
#define MERCER_LEARNERS "core/learners/learners.inc"
#endif

#define MERCER_LEARNER(name) \
  namespace mercer::name {   \
  LearnerEntry Entry();      \
  }
#include MERCER_LEARNERS
#undef MERCER_LEARNER

namespace mercer {
namespace {

std::vector<const LearnerEntry*> MakeEntries() {
  std::vector<const LearnerEntry*> entries;
#define MERCER_LEARNER(name) entries.push_back(new LearnerEntry(name::Entry()));
#include MERCER_LEARNERS
#undef MERCER_LEARNER
  return entries;
}

}  // namespace

const std::vector<const LearnerEntry*>& AllLearners() {
  static const auto& entries = *new std::vector<const LearnerEntry*>(MakeEntries());
  return entries;
}

const LearnerEntry* FindLearner(std::string_view name) {
  for (const LearnerEntry* entry : AllLearners()) {
    if (entry->name == name) {
      return entry;
    }
  }
  return nullptr;
}

}  // namespace mercer

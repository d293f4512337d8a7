// Stored witnesses, and the verifiers of all learners on what they hold.
#include <string>

#include "core/training/model/witness.h"
#include "tests/fuzz/support/checks.h"
#include "tests/fuzz/support/fuzz_target.h"
#include "tests/fuzz/support/training/framed_file.h"
#include "tests/fuzz/support/training/training.h"

namespace mercer::fuzz {
namespace {

struct Trained {
  const LearnerEntry* entry = nullptr;
  TrainingRecipe recipe;
  TrainedModel result;
};

const Dataset& Data() {
  static const auto& dataset = *new Dataset(MixedData());
  return dataset;
}

const std::vector<Trained>& TrainedOnce() {
  static const auto& all = *[] {
    auto* trained = new std::vector<Trained>;
    for (const LearnerEntry* entry : Learners()) {
      const TrainingRecipe recipe = MixedRecipe(*entry);
      trained->push_back({entry, recipe, Train(*entry, recipe, Data())});
    }
    return trained;
  }();
  return all;
}

void CheckVerification(const Witness& witness) {
  for (const Trained& trained : TrainedOnce()) {
    RunContext context;
    const absl::StatusOr<Certificate> certificate = VerifyModel(
        RunOf(*trained.entry, trained.recipe, Data()), trained.result.model, witness, context);
    if (!certificate.ok()) {
      RequireRefusal(certificate.status(),
                     {absl::StatusCode::kFailedPrecondition, absl::StatusCode::kInvalidArgument},
                     false);
    }
  }
}

void CheckFile(std::string_view file) {
  const absl::StatusOr<Witness> witness = LoadWitness(file);
  if (!witness.ok()) {
    const bool newer = absl::IsFailedPrecondition(witness.status());
    RequireRefusal(witness.status(),
                   {absl::StatusCode::kDataLoss, absl::StatusCode::kFailedPrecondition}, newer);
    return;
  }
  const std::string saved = SaveWitness(*witness);
  const absl::StatusOr<Witness> again = LoadWitness(saved);
  Require(again.ok() && SaveWitness(*again) == saved, "what was saved loads back");
  CheckVerification(*witness);
}

}  // namespace

void TestOneInput(std::string_view bytes) {
  CheckFile(bytes);
  CheckFile(Resealed(bytes));
}

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const Trained& trained : TrainedOnce()) {
    seeds.push_back(SaveWitness(trained.result.witness));
  }
  return seeds;
}

}  // namespace mercer::fuzz

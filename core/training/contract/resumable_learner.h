// What makes the steps of a learner transactions, once for all learners: a step that fails or is
// cancelled is forgotten, and what is saved is the state after the last whole step.
//
//   struct RidgeState {
//     Vector dual;  // empty before the first step
//     static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
//       visit(SizedOrEmpty(self.dual, of.rows));
//     }
//   };
//   class RidgeLearner : public ResumableLearner<RidgeState> {
//    public:
//     explicit RidgeLearner(const RidgeOptions& options)
//         : ResumableLearner("ridge", /*version=*/1), options_(options) {}
//     ...
//
// A learner supplies: the state and its list of fields (core/base/encoding/saved_fields.h); Begin,
// which sets the first state; Advance, a step on the state; Report; the model; and, where it has
// solvers with states of their own, SaveParts and LoadParts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/status/status_macros.h"
#include "core/training/contract/learner.h"

namespace mercer {

// What the limits of saved fields depend on.
struct StateSizes {
  Index rows = 0;     // of all tasks together
  Index kernels = 0;  // in the list of the problem
  Index outputs = 0;
  Index samples = 0;  // of all outputs together: the rows that each of them sees
};

template <typename State>
class ResumableLearner : public Learner {
 public:
  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) final {
    problem_ = &problem;
    samples_ = problem.num_samples();
    state_ = {};
    target_ = problem.relative_gap;
    MERCER_RETURN_IF_ERROR(Begin(warm_start));
    interrupted_ = false;
    saved_ = Serialize();
    return absl::OkStatus();
  }

  absl::StatusOr<StepReport> Step(RunContext& context, double target) final {
    target_ = target;
    if (interrupted_) {
      MERCER_RETURN_IF_ERROR(Deserialize(saved_, context));
    }
    interrupted_ = true;
    MERCER_RETURN_IF_ERROR(Advance(context));
    interrupted_ = false;
    saved_ = Serialize();
    return Report();
  }

  std::string SaveState() const final { return saved_; }

  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) final {
    MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
    interrupted_ = true;  // a restore that is cut short is no state to go on from
    MERCER_RETURN_IF_ERROR(Deserialize(state, context));
    interrupted_ = false;
    saved_ = std::string(state);
    return absl::OkStatus();
  }

 protected:
  // Versions are written before the state, and another one is refused; 0: the format has none.
  ResumableLearner(std::string name, uint64_t version)
      : name_(std::move(name)), version_(version) {}

  // Checks the problem and sets `state_`, which is new, and whatever else a run begins with.
  virtual absl::Status Begin(const WarmStart* warm_start) = 0;
  // A step on `state_` and on what belongs to it. After an error both are made anew from what was
  // saved.
  virtual absl::Status Advance(RunContext& context) = 0;
  virtual StepReport Report() const = 0;
  // Whether a state that was read, whose fields are within their limits, is one of this problem and
  // these options.
  virtual bool Fits(const State& /*state*/) const { return true; }
  // The solvers that belong to `state_`. LoadParts makes them, and what they work on, from `state_`
  // and what SaveParts wrote.
  virtual void SaveParts(ByteWriter& /*writer*/) const {}
  virtual absl::Status LoadParts(ByteReader& /*reader*/, RunContext& /*context*/) {
    return absl::OkStatus();
  }

  absl::Status NotAState() const {
    return absl::DataLossError(absl::StrCat("not a state of ", name_, " for this problem"));
  }
  // The status of restoring a solver, for which a state that is none is an invalid argument.
  absl::Status OfPart(const absl::Status& restored) const {
    return absl::IsInvalidArgument(restored) ? NotAState() : restored;
  }

  const TrainingProblem* problem_ = nullptr;
  State state_;
  // The accuracy that the present step is asked for; the problem's before the first one.
  double target_ = 0;

 private:
  StateSizes Sizes() const {
    return {problem_->num_rows(), static_cast<Index>(problem_->kernels.size()),
            problem_->num_outputs(), samples_};
  }

  std::string Serialize() const {
    ByteWriter writer;
    if (version_ != 0) {
      writer.WriteUint64(version_);
    }
    WriteFields(state_, writer, Sizes());
    SaveParts(writer);
    return std::move(writer).Take();
  }

  absl::Status Deserialize(std::string_view bytes, RunContext& context) {
    ByteReader reader(bytes);
    State state;
    const bool known = version_ == 0 || reader.ReadUint64() == version_;
    if (!known || !ReadFields(reader, state, Sizes()) || !Fits(state)) {
      return NotAState();
    }
    state_ = std::move(state);
    MERCER_RETURN_IF_ERROR(LoadParts(reader, context));
    return reader.AtEnd() ? absl::OkStatus() : NotAState();
  }

  const std::string name_;
  const uint64_t version_;
  Index samples_ = 0;
  std::string saved_;  // as of the end of the last whole step
  bool interrupted_ = false;
};

}  // namespace mercer

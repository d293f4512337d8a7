// A term of a model's function, which is the sum of its terms and its biases.
//
// What is common to all kinds of terms is this interface; no other code of the training, of the
// model files or of the service goes over kinds, but for the first two, which have places in the
// files and messages of their own. To add a kind: a class that implements TermOf, the function
// terms::Name() that makes its TermKind, and its line in terms.inc.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/terms/basis.h"
#include "core/training/terms/term_values.h"

namespace mercer {

struct GradientShape;

// What a part of a term contributes to the values: a kernel, a group of features.
struct TermShare {
  std::string name;
  // Whether it is the same thing as a share of that name in another term: a kernel, whose outputs
  // may be in several terms.
  bool joins_its_name = false;
};

// The function that a term is part of, as far as terms depend on it.
struct TermPlace {
  const std::vector<Basis>& bases;
  Index num_outputs = 0;
};

// How a term moves when the outputs of several functions are put side by side.
struct TermMove {
  int first_output = 0;            // where the outputs of its function begin
  const std::vector<Basis>& from;  // the bases of its function
  const std::vector<Basis>& to;    // those of all, where training rows are united
  const std::vector<int>& united;  // where each of `from` has become part of `to`
};

// One term. Immutable once it is part of a function, and safe for concurrent use.
class Term {
 public:
  virtual ~Term() = default;

  // The name of the kind, in model files and in the API.
  virtual std::string_view kind() const = 0;
  // Writes the term so that its kind (term_kinds.h) reads it.
  virtual void Write(ByteWriter& writer) const = 0;

  // Whether indices and shapes fit each other and the place, which all calls below rely on.
  // Errors: kDataLoss.
  absl::Status CheckShape(const TermPlace& place) const;
  // What else a model's term must be: finite, with parameters in their ranges. Of a term that has
  // passed CheckShape; `num_square_columns` is that of the model. Errors: kDataLoss.
  virtual absl::Status CheckValues(const TermPlace& /*place*/, Index /*num_square_columns*/) const {
    return absl::OkStatus();
  }

  virtual std::shared_ptr<const Term> Moved(const TermMove& move) const = 0;
  // This term and a later one of the same function as one, with the outputs of both; null where
  // they remain two.
  virtual std::shared_ptr<const Term> Joined(const Term& /*later*/) const { return nullptr; }
  // The term times a factor.
  virtual std::shared_ptr<const Term> Scaled(double factor) const = 0;

  // Makes the term ready to be evaluated; it must outlive the result. Errors: kDataLoss,
  // kCancelled.
  virtual absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const = 0;
  // The shares of the term, no two of one name. Of `rows` the names of the columns are read.
  virtual std::vector<TermShare> Shares(const PreparedData& rows) const = 0;
  // The basis that the shares are of, provided that no other term of an output has the same: terms
  // of one output on one basis, as kernels of low rank have, are no shares of single kernels. None:
  // the shares are what they are whatever else there is.
  virtual std::optional<int> BasisOfShares() const { return std::nullopt; }

  // The kernels that are evaluated for new rows.
  virtual absl::Span<const KernelSpec> Kernels() const { return {}; }
  // Marks used[b][i] for each row i of a basis b that the term has a coefficient for.
  virtual void MarkRows(std::vector<std::vector<bool>>& /*used*/) const {}
  // What it tells of the gradient of its one output; its values then are GradientTermValues. Null:
  // nothing.
  virtual const GradientShape* gradient() const { return nullptr; }
  // How many numbers the coefficients of the term are.
  virtual Index num_coefficients() const = 0;
  // Floating-point operations, about, for the values of a row of so many columns; with `by_share`,
  // those of its shares too.
  virtual int64_t WorkPerRow(int64_t columns, bool by_share) const = 0;

  std::vector<int> outputs;  // that the term contributes to, ascending

 protected:
  Term() = default;
  Term(const Term&) = default;
  Term(Term&&) = default;
  Term& operator=(const Term&) = default;
  Term& operator=(Term&&) = default;

 private:
  virtual absl::Status CheckOwnShape(const TermPlace& place) const = 0;
};

// The terms of a function, those of one kind side by side, kinds in the order of terms.inc.
using Terms = std::vector<std::shared_ptr<const Term>>;

// What the kinds of terms have in common when they are structs. `Own` has a constant kKind, its
// saved fields (VisitFields), Scale(factor), and MoveBases(move) when it reads bases.
template <typename Own>
class TermOf : public Term {
 public:
  std::string_view kind() const override { return Own::kKind; }
  void Write(ByteWriter& writer) const override { WriteFields(own(), writer); }

  std::shared_ptr<const Term> Moved(const TermMove& move) const override {
    auto moved = std::make_shared<Own>(own());
    for (int& output : moved->outputs) {
      output += move.first_output;
    }
    moved->MoveBases(move);
    return moved;
  }
  std::shared_ptr<const Term> Scaled(double factor) const override {
    auto scaled = std::make_shared<Own>(own());
    scaled->Scale(factor);
    return scaled;
  }
  void MoveBases(const TermMove& /*move*/) {}

 private:
  const Own& own() const { return static_cast<const Own&>(*this); }
};

// The terms that tell the gradient of their output.
std::vector<const Term*> WithGradients(const Terms& terms);

// The terms of one kind.
template <typename Kind>
std::vector<const Kind*> TermsOf(const Terms& terms) {
  std::vector<const Kind*> found;
  for (const std::shared_ptr<const Term>& term : terms) {
    if (term->kind() == Kind::kKind) {
      found.push_back(static_cast<const Kind*>(term.get()));
    }
  }
  return found;
}

// What is wrong with a stored model. Error: kDataLoss.
absl::Status UnreadableModel(std::string_view what);

}  // namespace mercer

#include "core/base/encoding/saved_fields.h"

#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace mercer {
namespace {

enum class Fruit : uint8_t { kApple = 0, kPear = 1 };

struct Inner {
  double weight = 0;
  std::vector<Index> order;

  static void VisitFields(auto& visit, auto& self) { visit(self.weight, self.order); }
};

struct Sizes {
  Index rows = 0;
};

struct Outer {
  bool begun = false;
  Vector dual;
  Matrix table;
  int64_t steps = 0;
  Fruit fruit = Fruit::kApple;
  std::optional<Fruit> other;
  std::optional<Inner> inner;
  std::vector<Inner> list;
  double positive = 1;
  std::string text;

  static void VisitFields(auto& visit, auto& self, const Sizes& of) {
    visit(self.begun, SizedOrEmpty(self.dual, of.rows), Sized(self.table, of.rows, 2),
          FormerNumber(), self.steps, UpTo(self.fruit, Fruit::kPear),
          UpTo(self.other, Fruit::kPear), Nested(self.inner, NoSizes()),
          Nested(self.list, NoSizes()), Positive(self.positive), self.text);
    visit.Require([&] { return self.begun || self.dual.size() == 0; });
  }
};

Outer Sample() {
  Outer sample;
  sample.begun = true;
  sample.dual = Vector::LinSpaced(3, -1, 1);
  sample.table = Matrix::Identity(3, 2);
  sample.steps = 7;
  sample.fruit = Fruit::kPear;
  sample.other = Fruit::kApple;
  sample.inner = Inner{2.5, {3, -1}};
  sample.list = {{1, {}}, {2, {4}}};
  sample.text = "x";
  return sample;
}

// The same bytes, field by field, without the list.
std::string Encoded(const Outer& sample, double former) {
  ByteWriter writer;
  writer.WriteBool(sample.begun);
  writer.WriteVector(sample.dual);
  writer.WriteMatrix(sample.table);
  writer.WriteDouble(former);
  writer.WriteInt64(sample.steps);
  writer.WriteUint8(static_cast<uint8_t>(sample.fruit));
  writer.WriteBool(sample.other.has_value());
  writer.WriteUint8(static_cast<uint8_t>(sample.other.value_or(Fruit::kApple)));
  writer.WriteBool(sample.inner.has_value());
  if (sample.inner.has_value()) {
    writer.WriteDouble(sample.inner->weight);
    writer.WriteIndices(sample.inner->order);
  }
  writer.WriteUint64(sample.list.size());
  for (const Inner& inner : sample.list) {
    writer.WriteDouble(inner.weight);
    writer.WriteIndices(inner.order);
  }
  writer.WriteDouble(sample.positive);
  writer.WriteString(sample.text);
  return std::move(writer).Take();
}

TEST(SavedFieldsTest, WritesTheFieldsInTheirOrder) {
  EXPECT_EQ(SaveFields(Sample(), Sizes{3}), Encoded(Sample(), 0));
  Outer bare = Sample();
  bare.other.reset();
  bare.inner.reset();
  EXPECT_EQ(SaveFields(bare, Sizes{3}), Encoded(bare, 0));
}

TEST(SavedFieldsTest, ReadsWhatWasWrittenAndPassesOverFormerNumbers) {
  Outer read;
  ASSERT_TRUE(LoadFields(Encoded(Sample(), 0.125), read, Sizes{3}));
  EXPECT_EQ(Encoded(read, 0), Encoded(Sample(), 0));
  Outer bare = Sample();
  bare.other.reset();
  bare.inner.reset();
  Outer read_bare;
  ASSERT_TRUE(LoadFields(Encoded(bare, 0), read_bare, Sizes{3}));
  EXPECT_FALSE(read_bare.other.has_value());
  EXPECT_FALSE(read_bare.inner.has_value());
}

TEST(SavedFieldsTest, RefusesEveryLengthButTheWhole) {
  const std::string bytes = Encoded(Sample(), 0);
  for (size_t length = 0; length < bytes.size(); ++length) {
    Outer read;
    EXPECT_FALSE(LoadFields(bytes.substr(0, length), read, Sizes{3})) << length;
  }
  Outer read;
  EXPECT_FALSE(LoadFields(bytes + "x", read, Sizes{3}));
}

TEST(SavedFieldsTest, RefusesFieldsOutsideTheirLimits) {
  const auto refused = [](auto&& change) {
    Outer sample = Sample();
    change(sample);
    Outer read;
    return !LoadFields(Encoded(sample, 0), read, Sizes{3});
  };
  EXPECT_FALSE(refused([](Outer&) {}));
  EXPECT_FALSE(refused([](Outer& of) { of.dual = Vector(); }));
  EXPECT_TRUE(refused([](Outer& of) { of.dual = Vector::Zero(2); }));
  EXPECT_TRUE(refused([](Outer& of) { of.table = Matrix::Zero(2, 3); }));
  EXPECT_TRUE(refused([](Outer& of) { of.table = Matrix(); }));
  EXPECT_TRUE(refused([](Outer& of) { of.steps = -1; }));
  EXPECT_TRUE(refused([](Outer& of) { of.fruit = static_cast<Fruit>(2); }));
  EXPECT_TRUE(refused([](Outer& of) { of.other = static_cast<Fruit>(2); }));
  EXPECT_TRUE(refused([](Outer& of) { of.positive = 0; }));
  EXPECT_TRUE(refused([](Outer& of) { of.positive = std::numeric_limits<double>::quiet_NaN(); }));
  EXPECT_TRUE(refused([](Outer& of) { of.begun = false; }));
}

// What is made of the plain ones.
struct Compound {
  int degree = 0;
  std::vector<int> outputs;
  std::vector<std::vector<double>> groups;
  std::vector<std::pair<std::string, Vector>> arrays;
  std::vector<std::map<std::string, std::vector<double>>> metrics;
  Variant<bool, int64_t, std::string> choice;
  std::shared_ptr<const Inner> shared = std::make_shared<const Inner>();
  char letter = 'a';  // as a text of its own

  static void VisitFields(auto& visit, auto& self) {
    visit(self.degree, self.outputs, self.groups, self.arrays, self.metrics, self.choice,
          self.shared,
          Custom(
              self.letter,
              [](char one, ByteWriter& writer) {
                writer.WriteString({&one, 1});
              },
              [](ByteReader& reader) {
                const std::string text = reader.ReadString();
                if (text.size() != 1) {
                  reader.Fail();
                }
                return text.empty() ? ' ' : text[0];
              }));
  }
};

Compound CompoundSample() {
  Compound sample;
  sample.degree = 3;
  sample.outputs = {0, 2};
  sample.groups = {{1.5}, {}, {2, 3}};
  sample.arrays.emplace_back("weights", Vector::Ones(2));
  sample.metrics.resize(2);
  sample.metrics[0]["accuracy"] = {0.5, 1};
  sample.metrics[0]["auc"] = {};
  sample.choice = int64_t{-7};
  sample.shared = std::make_shared<const Inner>(Inner{2.5, {4}});
  return sample;
}

// The numbers that take 64 bits as they are given here.
std::string EncodedCompound(int64_t degree, int64_t output, uint8_t choice,
                            const std::string& letter) {
  ByteWriter writer;
  writer.WriteInt64(degree);
  writer.WriteIndices({0, output});
  writer.WriteUint64(3);
  writer.WriteDoubles({1.5});
  writer.WriteDoubles({});
  writer.WriteDoubles({2, 3});
  writer.WriteUint64(1);
  writer.WriteString("weights");
  writer.WriteVector(Vector::Ones(2));
  writer.WriteUint64(2);
  writer.WriteUint64(2);
  writer.WriteString("accuracy");
  writer.WriteDoubles({0.5, 1});
  writer.WriteString("auc");
  writer.WriteDoubles({});
  writer.WriteUint64(0);
  writer.WriteUint8(choice);
  writer.WriteInt64(-7);
  writer.WriteDouble(2.5);
  writer.WriteIndices({4});
  writer.WriteString(letter);
  return std::move(writer).Take();
}

TEST(SavedFieldsTest, WritesAndReadsWhatIsMadeOfOtherFields) {
  const std::string bytes = EncodedCompound(3, 2, 1, "a");
  EXPECT_EQ(SaveFields(CompoundSample()), bytes);
  Compound read;
  read.letter = 'b';
  ASSERT_TRUE(LoadFields(bytes, read));
  EXPECT_EQ(read.outputs, CompoundSample().outputs);
  EXPECT_EQ(read.metrics, CompoundSample().metrics);
  EXPECT_EQ(std::get<int64_t>(read.choice), -7);
  EXPECT_EQ(SaveFields(read), bytes);
  for (size_t length = 0; length < bytes.size(); ++length) {
    Compound cut;
    EXPECT_FALSE(LoadFields(bytes.substr(0, length), cut)) << length;
  }
}

TEST(SavedFieldsTest, RefusesIntegersAlternativesAndOwnFormsOutsideTheirLimits) {
  const auto refused = [](int64_t degree, int64_t output, uint8_t choice,
                          const std::string& letter) {
    Compound read;
    return !LoadFields(EncodedCompound(degree, output, choice, letter), read);
  };
  constexpr int64_t kLargest = std::numeric_limits<int>::max();
  EXPECT_FALSE(refused(kLargest, kLargest, 1, "a"));
  EXPECT_TRUE(refused(-1, 2, 1, "a"));
  EXPECT_TRUE(refused(kLargest + 1, 2, 1, "a"));
  EXPECT_TRUE(refused(3, -1, 1, "a"));
  EXPECT_TRUE(refused(3, int64_t{1} << 32, 1, "a"));
  EXPECT_TRUE(refused(3, 2, 3, "a"));
  EXPECT_TRUE(refused(3, 2, 1, "ab"));
}

}  // namespace
}  // namespace mercer

// The API's messages and the clients' copies of the list of kernels, against core/kernels/formulas.
#include <cmath>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/kernels/spec/kernel_formula.h"
#include "server/translation/kernel_translator.h"
#include "tests/support/source_folder.h"

namespace mercer::server {
namespace {

using google::protobuf::FieldDescriptor;
using testing::HasSubstr;
using testing::UnorderedElementsAreArray;

std::string ReadSource(const std::string& path) {
  std::ifstream file(SourceFolder() / path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

std::string Upper(std::string_view name) { return absl::AsciiStrToUpper(std::string(name)); }

// What the groups of all matches hold.
std::vector<std::string> FindAll(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    found.push_back((*match)[1]);
  }
  return found;
}

// The names, in capitals, of the kernels for which `holds`.
template <typename Predicate>
std::vector<std::string> NamesWhere(const Predicate& holds) {
  std::vector<std::string> names;
  for (const KernelFormula& formula : AllFormulas()) {
    if (holds(formula)) {
      names.push_back(Upper(formula.name));
    }
  }
  return names;
}

std::vector<std::string> Names() {
  return NamesWhere([](const KernelFormula& /*formula*/) { return true; });
}

TEST(KernelListTest, EveryKernelIsAValueOfTheEnumAtItsPlace) {
  const google::protobuf::EnumDescriptor& type = *v1::KernelType_descriptor();
  EXPECT_EQ(static_cast<size_t>(type.value_count()), AllFormulas().size() + 1);
  for (size_t k = 0; k < AllFormulas().size(); ++k) {
    const auto* value = type.FindValueByNumber(static_cast<int>(k) + 1);
    ASSERT_NE(value, nullptr) << AllFormulas()[k].name << ": './dev docs' writes it";
    EXPECT_EQ(value->name(), "KERNEL_TYPE_" + Upper(AllFormulas()[k].name));
  }
}

TEST(KernelListTest, EveryParameterIsAFieldOfBothMessages) {
  for (const KernelParameter& parameter : AllKernelParameters()) {
    const auto type = parameter.whole != nullptr ? FieldDescriptor::CPPTYPE_INT32
                                                 : FieldDescriptor::CPPTYPE_DOUBLE;
    for (const auto* message : {v1::Kernel::descriptor(), v1::KernelGrid::descriptor()}) {
      const FieldDescriptor* field = message->FindFieldByName(std::string(parameter.name));
      ASSERT_NE(field, nullptr) << message->name() << " lacks " << parameter.name;
      EXPECT_EQ(field->cpp_type(), type) << field->full_name();
      EXPECT_EQ(field->has_presence(), message == v1::KernelGrid::descriptor());
    }
  }
}

// Ranges and defaults stand in the comments of kernel.proto too.
TEST(KernelListTest, TheCommentsOfParametersSayTheirRangesAndDefaults) {
  const std::string proto = ReadSource("proto/mercer/v1/kernel.proto");
  for (const KernelParameter& parameter : AllKernelParameters()) {
    const std::string type = parameter.whole != nullptr ? "int32 " : "double ";
    const std::vector<std::string> comments =
        FindAll(proto, absl::StrCat("((?:  //[^\\n]*\\n)+)  (?:optional )?", type,
                                    std::string(parameter.name), " = "));
    ASSERT_EQ(comments.size(), 2U) << parameter.name;
    const std::string range = std::isfinite(parameter.max)
                                  ? absl::StrCat(parameter.min, " .. ", parameter.max)
                                  : absl::StrCat(parameter.min_open ? "> " : ">= ", parameter.min);
    EXPECT_THAT(comments, testing::Each(HasSubstr(range))) << parameter.name;
    if (parameter.name != "bandwidth") {  // whose default is the median distance
      EXPECT_THAT(comments[1],
                  HasSubstr(absl::StrCat("Absent: ", parameter.Of(KernelSpec()), ".")));
    }
  }
}

TEST(KernelListTest, ParametersGoThereAndBackAndThoseOfOthersAreRefused) {
  for (size_t k = 0; k < AllFormulas().size(); ++k) {
    const KernelFormula& formula = AllFormulas()[k];
    KernelGrid grid;
    grid.prototype.type = static_cast<KernelType>(k);
    for (const KernelParameter& parameter : formula.parameters) {
      parameter.Set(parameter.Of(KernelSpec()) + 1.0, grid.prototype);
    }
    v1::KernelGrid message = WriteKernelGrid(grid);
    FieldViolations violations;
    EXPECT_EQ(ReadKernelGrid(message, "k", violations).prototype, grid.prototype) << formula.name;
    EXPECT_TRUE(violations.empty()) << violations.ToStatus();
    for (const KernelParameter& parameter : AllKernelParameters()) {
      if (formula.has(parameter.name)) {
        continue;
      }
      v1::KernelGrid wrong = message;
      const FieldDescriptor* field =
          wrong.GetDescriptor()->FindFieldByName(std::string(parameter.name));
      if (parameter.whole != nullptr) {
        wrong.GetReflection()->SetInt32(&wrong, field, 2);
      } else {
        wrong.GetReflection()->SetDouble(&wrong, field, 2.0);
      }
      FieldViolations refused;
      ReadKernelGrid(wrong, "k", refused);
      EXPECT_THAT(refused.ToStatus().ToString(), HasSubstr("is only for")) << formula.name;
    }
  }
}

TEST(KernelListTest, LabelsGoThereAndBackAndToModels) {
  KernelGrid grid;
  grid.prototype.labels = {"hue", "colour"};
  const v1::KernelGrid message = WriteKernelGrid(grid);
  EXPECT_EQ(message.name(), "hue");
  EXPECT_EQ(message.group(), "colour");
  FieldViolations violations;
  EXPECT_EQ(ReadKernelGrid(message, "k", violations).prototype, grid.prototype);
  EXPECT_TRUE(violations.empty()) << violations.ToStatus();
  v1::Kernel kernel = WriteKernel(grid.prototype);
  EXPECT_EQ(kernel.name(), "hue");
  EXPECT_EQ(kernel.group(), "colour");
  EXPECT_EQ(kernel.display_name(), "hue");
  kernel = WriteKernel({});
  EXPECT_EQ(kernel.name(), "");
  EXPECT_EQ(kernel.display_name(), "gaussian(bandwidth=1)");
}

TEST(KernelListTest, ThePythonPackageHasEveryKernelAndItsNamesElsewhere) {
  const std::string words = ReadSource("client/python/src/mercer/kernels.py");
  for (const KernelFormula& formula : AllFormulas()) {
    EXPECT_THAT(words, HasSubstr(std::string(formula.name)));
    for (const std::string_view other : formula.names_elsewhere) {
      EXPECT_THAT(words, HasSubstr(absl::StrCat("\"", std::string(other), "\": \"",
                                                std::string(formula.name), "\"")));
    }
    if (formula.gamma.value != nullptr) {
      EXPECT_THAT(words, HasSubstr(std::string(formula.gamma.formula)));
    }
  }
  for (const KernelParameter& parameter : AllKernelParameters()) {
    for (const std::string_view other : parameter.names_elsewhere) {
      EXPECT_THAT(words, HasSubstr(absl::StrCat("\"", std::string(other), "\": \"",
                                                std::string(parameter.name), "\"")));
    }
  }
  // Models that predict without a server.
  const std::string values =
      absl::StrReplaceAll(ReadSource("client/python/src/mercer/_kernel_values.py"),
                          {{"(\n    ", ""}, {",\n)", ""}});  // of a list over several lines
  EXPECT_THAT(values, HasSubstr(absl::StrCat(absl::StrJoin(Names(), ", "), " = range(",
                                             AllFormulas().size(), ")")));
  const std::vector<std::string> squares =
      NamesWhere([](const KernelFormula& formula) { return formula.is_square(); });
  EXPECT_THAT(values,
              HasSubstr(absl::StrCat("SQUARE_TYPES = (", absl::StrJoin(squares, ", "), ")")));
}

TEST(KernelListTest, TheDashboardHasEveryKernel) {
  const std::string form = ReadSource("client/web/src/form/kernel_form.ts");
  EXPECT_THAT(FindAll(form, "\\{ value: '([A-Z_]+)', text"), UnorderedElementsAreArray(Names()));
  const std::vector<std::string> without =
      NamesWhere([](const KernelFormula& formula) { return !formula.has_bandwidth(); });
  EXPECT_THAT(form, HasSubstr(absl::StrCat("!['", absl::StrJoin(without, "', '"), "'].includes")));
  EXPECT_THAT(ReadSource("client/web/src/lib/request_words.ts"),
              HasSubstr(absl::StrCat("Set(['KERNEL_TYPE_",
                                     absl::StrJoin(without, "', 'KERNEL_TYPE_"), "'])")));
  const std::vector<std::string> squares =
      NamesWhere([](const KernelFormula& formula) { return formula.is_square(); });
  EXPECT_THAT(
      form, HasSubstr(absl::StrCat("type === '", absl::StrJoin(squares, "' || type === '"), "'")));
}

}  // namespace
}  // namespace mercer::server

#include "server/app/command_line.h"

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include <CLI/CLI.hpp>

namespace mercer::server {
namespace {

// The line of `text` (from 1) that begins with `name`, 0 without one.
int LineOf(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t[\"'");
    if (begin == std::string::npos || line.compare(begin, name.size(), name) != 0) {
      continue;
    }
    const size_t end = begin + name.size();
    if (end == line.size() ||
        std::string_view(" \t=:]\"'\r").find(line[end]) != std::string_view::npos) {
      return number;
    }
  }
  return 0;
}

// The library's reader of configuration files, except that a name which no option has is refused, with
// its place, and not ignored.
class StrictConfig final : public CLI::ConfigTOML {
 public:
  explicit StrictConfig(const CLI::App& app) : app_(app) {}

  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override {
    std::stringstream text;
    text << input.rdbuf();
    std::vector<CLI::ConfigItem> settings = CLI::ConfigTOML::from_config(text);
    for (const CLI::ConfigItem& item : settings) {
      const bool known =
          item.parents.empty() && app_.get_option_no_throw("--" + item.name) != nullptr;
      if (!known) {
        const std::string& name = item.parents.empty() ? item.name : item.parents[0];
        throw CLI::ConfigError(app_.get_config_ptr()->as<std::string>() + ":" +
                               std::to_string(LineOf(text.str(), name)) + ": there is no option '" +
                               name + "'");
      }
    }
    return settings;
  }

 private:
  const CLI::App& app_;
};

// What is wrong with a number as it is written; empty: nothing.
std::string Misfit(const Setting& setting, const std::string& text) {
  double number = 0;
  if (absl::SimpleAtod(text, &number) && number >= static_cast<double>(setting.least) &&
      number <= static_cast<double>(setting.most)) {
    return "";
  }
  return absl::StrCat(setting.Range(), ", is ", text);
}

void AddSetting(CLI::App& app, const Setting& setting) {
  CLI::Option* const option = std::visit(
      [&](auto* value) {
        using T = std::remove_pointer_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) {
          return app.add_flag(setting.flag, *value, setting.meaning);
        } else if constexpr (std::is_same_v<T, absl::Duration>) {
          const auto store = [value](double seconds) { *value = absl::Seconds(seconds); };
          return app.add_option_function<double>(setting.flag, store, setting.meaning)
              ->default_str(absl::StrCat(absl::ToDoubleSeconds(*value)));
        } else {
          return app.add_option(setting.flag, *value, setting.meaning)->capture_default_str();
        }
      },
      setting.value);
  if (setting.unit == Setting::kBytes) {
    option->transform(CLI::AsSizeValue(false));
  } else if (setting.unit == Setting::kAge) {
    option->transform(CLI::AsNumberWithUnit(
        std::map<std::string, double>{{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86'400}}));
  }
  if (!std::holds_alternative<std::string*>(setting.value) &&
      !std::holds_alternative<bool*>(setting.value)) {
    option->check([setting](const std::string& text) { return Misfit(setting, text); });
  }
}

// One reading of a command line and of its file.
class Reading {
 public:
  explicit Reading(CommandLine& result)
      : app_("mercer-server: trains kernel machines, keeps the models, predicts", "mercer-server") {
    app_.set_version_flag("--version", kCodeVersion);
    app_.set_config("--config", "",
                    "a file with these options, one NAME=VALUE per line; flags go first. SIGHUP "
                    "reads it again");
    app_.config_formatter(std::make_shared<StrictConfig>(app_));
    for (const Setting& setting : SettingsOf(result.options)) {
      AddSetting(app_, setting);
    }
    app_.get_option("--log-level")
        ->check(CLI::IsMember({"trace", "debug", "info", "warning", "error", "critical", "off"}));
    AddCommands(app_, result.command);
  }

  CLI::App& app() { return app_; }
  std::string File() const { return app_.get_config_ptr()->as<std::string>(); }

 private:
  CLI::App app_;
};

// The option that a message is about: its first word that begins with "--", without that; empty: none.
std::string OptionIn(const std::string& message) {
  const size_t begin = message.find("--");
  if (begin == std::string::npos) {
    return "";
  }
  const size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz-", begin);
  return message.substr(begin + 2, end == std::string::npos ? end : end - begin - 2);
}

// Flags were good at the start, so a mistake is one of the file.
std::string WithPlace(const std::string& file, const std::string& message) {
  if (message.find(file) != std::string::npos) {
    return message;
  }
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  const std::string option = OptionIn(message);
  const int line = option.empty() ? 0 : LineOf(text.str(), option);
  return absl::StrCat(file, line > 0 ? absl::StrCat(":", line) : "", ": ", message);
}

}  // namespace

CommandLine ParseCommandLine(int argc, const char* const* argv) {
  CommandLine result;
  Reading reading(result);
  try {
    reading.app().parse(argc, argv);
    result.has_file = !reading.File().empty();
  } catch (const CLI::ParseError& error) {
    result.exit_code = reading.app().exit(error);
  }
  return result;
}

absl::StatusOr<ServerOptions> ReadOptionsAgain(int argc, const char* const* argv) {
  CommandLine result;
  Reading reading(result);
  try {
    reading.app().parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(WithPlace(reading.File(), error.what()));
  }
  if (const absl::Status status = ResolveOptions(result.options).status(); !status.ok()) {
    return absl::InvalidArgumentError(WithPlace(reading.File(), std::string(status.message())));
  }
  return std::move(result.options);
}

}  // namespace mercer::server

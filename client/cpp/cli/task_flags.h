// The flags that say by which outputs of a model of several tasks rows are predicted.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "mercer/v1/model_version.pb.h"

namespace mercer::client {

struct TaskFlags {
  std::string task;
  std::string rule = "own";
};

// `flags` outlives the command.
void AddTaskFlags(CLI::App& command, TaskFlags& flags);
v1::TaskRule RuleOf(const TaskFlags& flags);

}  // namespace mercer::client

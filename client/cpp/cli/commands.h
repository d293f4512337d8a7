// The commands of the program; each adds itself to the command line.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "client/cpp/cli/command_line.h"

namespace mercer::client {

void AddDataCommands(
    CommandLine& line);  // data upload, upload-images, list, show, rm, uploads, drop
void AddTrainCommand(CommandLine& line);       // train
void AddJobCommands(CommandLine& line);        // jobs, watch, stop, cancel
void AddPredictCommand(CommandLine& line);     // predict
void AddModelCommands(CommandLine& line);      // models, versions, show, export, rm
void AddAliasCommands(CommandLine& line);      // alias set, rm, list, history, rollback
void AddRegistryCommands(CommandLine& line);   // update, retention, evaluate, verify
void AddLearnersCommand(CommandLine& line);    // learners
void AddAdminCommands(CommandLine& line);      // admin backup
void AddServerCommand(CommandLine& line);      // server
void AddHealthCommand(CommandLine& line);      // health
void AddVersionCommand(CommandLine& line);     // version
void AddCompletionCommand(CommandLine& line);  // completion

// "upload-images" below `data`.
void AddImageUpload(CommandLine& line, CLI::App& data);

// "rm" below `models`.
void AddVersionRemoval(CommandLine& line, CLI::App& models);

// Shows a job's events until its final state, then its end; the exit code says which. Of the decisions
// about its request the first `told_decisions` have been shown, and are not shown again.
absl::StatusOr<ExitCode> WatchToTheEnd(Session& session, const std::string& job,
                                       int told_decisions = 0);

// Moves the options of the learner, which the program does not know beforehand, from the arguments
// of "train" to `line`: words --name=VALUE, or --name and the word behind it unless that begins
// with
// "--", where "train" has no flag of that name.
void TakeLearnerOptions(CommandLine& line, std::vector<std::string>& arguments);

}  // namespace mercer::client

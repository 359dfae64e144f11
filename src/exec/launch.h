// From a request to a running command: account, folder, environment, program,
// start marker, exec, in this order. What is wrong with the rule is found before
// anything runs and ends the attempt as an exit would: 78 (configuration) for
// folder, user and secrets, 127 for a program that is not there, 126 for one
// that cannot be executed. What is wrong with the machine ends as not started.
//
// Blocks; any thread but the engine's.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "exec/child.h"
#include "exec/data_folder.h"
#include "exec/environment.h"
#include "exec/exec.h"
#include "exec/journal.h"
#include "exec/spawn.h"

namespace duecourse {

class Launcher {
 public:
  Launcher(const ExecOptions& options, const Clock& clock, StartJournal& journal, uint64_t soft_files);

  // A running command; or how the attempt ended without one; or that the machine has no room now, in which
  // case nothing of the attempt is left and the same may be asked again.
  using Launched = std::variant<std::unique_ptr<Child>, Ending, SpawnFault>;
  Launched Launch(const StartRequest& request) const;

 private:
  struct Prepared;
  std::optional<Ending> Prepare(const StartRequest& request, Prepared& prepared) const;
  std::optional<Ending> PrepareAccount(const StartRequest& request, Prepared& prepared) const;
  std::optional<Ending> MakeOwnFolder(Prepared& prepared) const;
  std::optional<Ending> PrepareFolder(const StartRequest& request, Prepared& prepared) const;
  std::optional<Ending> PrepareResult(const StartRequest& request, Prepared& prepared) const;
  std::optional<Ending> PrepareProgram(const StartRequest& request, Prepared& prepared) const;
  Launched Run(const StartRequest& request, Prepared& prepared) const;

  const ExecOptions& options_;
  const Clock& clock_;
  const DataFolder data_;
  StartJournal& journal_;
  const uint64_t soft_files_;  // what programs get as their soft limit of descriptors
  const Account own_;
  const Fd null_;  // what commands read
};

// The task's private folder below <data>/tasks; bytes that are unsafe in a name are written as %XX.
std::string WorkFolder(const std::string& data_folder, const std::string& task);
// An ending for what is wrong with the rule: code 78, "workdir_missing".
Ending ConfigurationEnding(const std::string& said_code, const std::string& summary);
Ending NotStartedEnding(const std::string& summary);
// Of what Spawn could not do; `program` is the one that was to run.
Ending FaultEnding(const SpawnFault& fault, const std::string& program);

}  // namespace duecourse

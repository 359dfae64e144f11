// From an ended command to its Ending: what it left running is ended or counted,
// the rest of its output is read, its result file is read, its output is stored.
//
// Blocks; any thread but the engine's and the watch's.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "exec/child.h"
#include "exec/exec.h"

namespace duecourse {

class Finisher {
 public:
  Finisher(const ExecOptions& options, const Clock& clock, Log& log)
      : options_(options), clock_(clock), log_(log) {}

  // The quick way of nearly all: both streams at their ends, nobody left in the group. False: EndLeftovers is
  // needed.
  bool EndedAlone(Child& child) const;
  // Ends what is left of each (by KILL: the direct child has ended, and with it the work), or counts it where
  // the rule keeps background children and nobody ended the attempt by force. One look at all processes
  // serves all. For each false where something does not end: ask again; the attempt must not be reported
  // meanwhile, or another one of its key would run beside it.
  std::vector<bool> EndLeftovers(const std::vector<std::unique_ptr<Child>>& children) const;
  Ending Finish(Child& child) const;
  // Processes of these attempts that hid from EndedAlone (own session, own output) are ended and logged.
  void Sweep(const std::set<std::pair<std::string, int64_t>>& attempts) const;
  // True where EndedAlone may have been taken in by such processes.
  static bool NeedsSweep(const Child& child);

 private:
  void ReadRest(ChildStream& stream) const;
  void ReadResult(Child& child, Ending& ending) const;
  // Whatever stands under its name, and the scratch folder.
  void RemoveResult(const Child& child) const;

  const ExecOptions& options_;
  const Clock& clock_;
  Log& log_;
};

const char* KillWhyName(KillWhy why);  // "window_end"
const char* KillWhyText(KillWhy why);  // for people, a clause: "its window ended"
// "mytool" out of what a shell says when it finds no command; empty where it says nothing of the kind.
std::string CommandOfShellMessage(std::string_view err_tail, std::string_view complaint);

}  // namespace duecourse

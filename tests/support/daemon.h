// A real daemon in a folder of its own: rules and settings as files, commands over its socket, and a wall
// clock that can be set. Long stories run compressed (a rate above 1), or in full where DUECOURSE_LONG is
// set; virtual time goes on across restarts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/instant.h"
#include "base/json.h"
#include "process.h"

namespace duecourse {

// True under ./dev check --long: the scenarios run at the pace of the real clock.
bool LongRun();

class TestDaemon {
 public:
  TestDaemon();
  ~TestDaemon();

  // ---- the folder: duecourse.yaml, rules/, data/, everything below one scratch folder
  std::string operator/(const std::string& name) const { return folder_ / name; }
  void Rules(const std::string& yaml, const std::string& file = "rules.yaml");
  void Settings(const std::string& yaml);
  std::string data() const { return folder_ / "data"; }
  std::string log() const { return Content(folder_ / "daemon.log"); }

  // ---- the clock: it shows `instant` when the daemon starts next, and runs at `rate` from there (1 in a
  // long run)
  void StandAt(const std::string& instant, double rate = 1);
  // Starts the daemon at that instant and stops it again: the rules are in force from then on, so that what
  // is due soon after the next start is owed even where a busy machine makes that start slow.
  void InForceSince(const std::string& instant);
  Instant Now() const;
  double rate() const { return rate_; }
  // Real milliseconds until the daemon's clock shows the instant, and so many more; a bound for Eventually.
  int64_t BoundUntil(const std::string& instant, int64_t more_ms = kPatienceMs) const;
  bool PassedBy(const std::string& instant) const;
  // Waits until the daemon's clock is past it.
  void Until(const std::string& instant) const;

  // ---- the process
  struct Launch {
    bool init = true;               // --init, at the first start only
    std::vector<std::string> env;   // beside the plain environment
    bool only_env = false;          // `env` is the whole environment
    std::vector<std::string> more;  // further arguments
    std::vector<std::string> under;  // a program that replaces itself by the daemon: PrivateMounts(...)
    std::string folder;             // working folder; default the scratch folder
  };
  // True once it answers; otherwise its log says why.
  bool Start(const Launch& launch);
  bool Start();
  // Starts it and waits for its end: for starts that must be refused. The exit code.
  int StartRefused(const Launch& launch);
  // SIGTERM; the exit code.
  int Stop(int64_t bound_ms = kPatienceMs);
  void Kill();  // SIGKILL
  Program& program() { return program_; }
  bool Ready() const;  // it answers on its socket

  // ---- commands
  ProgramResult Cli(std::vector<std::string> words) const;
  // The same with -o json; null where the answer is no JSON.
  Json Ask(std::vector<std::string> words) const;
  Json Get(const std::string& path) const;    // GET over the socket; null where nothing answers
  int Status(const std::string& path) const;  // 0 where nothing answers

  std::vector<Json> Runs(const std::string& task) const;  // oldest first
  std::optional<Json> Run(const std::string& key) const;
  std::string State(const std::string& key) const;  // "" where there is no such run
  std::vector<Json> Attempts(const std::string& key) const;
  std::vector<Json> Decisions(const std::string& task) const;
  std::vector<Json> Alerts(const std::string& task = "") const;
  std::vector<Json> Ranges(const std::string& task) const;  // counted ranges, as `why` has them
  // Which of the decisions have this reason; their details as one text a row.
  std::vector<std::string> Details(const std::string& task, const std::string& reason) const;
  bool AwaitState(const std::string& key, const std::string& state, int64_t bound_ms = kPatienceMs) const;
  // For a failed expectation: the log's end, runs and decisions of the task.
  std::string Tell(const std::string& task) const;

 private:
  ProgramSpec ServeSpec(const Launch& launch);

  ScratchFolder folder_;
  Program program_;
  bool started_ = false;
  bool clock_set_ = false;
  bool clock_waits_ = false;  // for the next start
  double rate_ = 1;
  Instant virtual_origin_;
  int64_t real_origin_us_ = 0;
};

}  // namespace duecourse

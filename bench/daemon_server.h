// A daemon under load, seen from outside: its rules, its process, its answers and what it left in its store.
// For daemon_bench. Faults end the program.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "machine_limits.h"
#include "net/http_client.h"
#include "store/store.h"

namespace duecourse {

// A scratch folder with a place for rules.
class Folder {
 public:
  Folder();
  const std::string& path() const { return folder_.path(); }
  void WriteRules(const std::string& text) const;

 private:
  BenchFolder folder_;
};

// Waits without busy looping; no file is watched.
void Rest(int milliseconds);

class Server {
 public:
  Server(std::string program, const Folder& folder);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void Start(bool init);  // and waits until it answers
  void Stop(int signal);
  int64_t Metric(const std::string& name);
  // Of /proc/PID/status: VmRSS is all that is resident, RssAnon the part that is no page of a program or
  // library file.
  double MiBOf(const std::string& name) const;
  // Of all its threads, in nanoseconds: /proc/PID/stat counts in ticks of 10 ms, which is as much as an idle
  // daemon takes in ten seconds.
  double CpuSeconds() const;
  double start_ms() const { return start_ms_; }
  std::unique_ptr<StoreReader> Reader() const;

 private:
  std::string Ask(const std::string& path);

  const std::string program_;
  const std::string folder_;
  pid_t pid_ = 0;
  double start_ms_ = 0;
  HttpClient client_;
};

// A whole second that many from now, and the cron line of an instant's time of day, in UTC.
Instant WholeSecondIn(int seconds);
std::string CronOf(Instant at);
std::string NoopRules(int count, const std::string& cron);

struct Outcomes {
  std::vector<double> lag_ms;
  Instant last_end = kLongAgo;
  size_t success = 0;
  size_t attempts = 0;
};
// Of the runs that were due then, or of all (kLongAgo), each with its own due instant.
Outcomes Read(const Server& server, Instant due);
// Until so many attempts were started since the daemon's start and none runs.
void AwaitStarts(Server& server, int64_t count, int seconds);

}  // namespace duecourse

// For this room's tests only: an executor on a folder of its own, a sink that
// can be waited on (always with a bound), and rules in one line.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/test_folder.h"
#include "base/text.h"
#include "exec/exec.h"

namespace duecourse {

// Nothing that works takes this long, on however busy a machine.
inline constexpr int64_t kTestPatienceMs = 60'000;

inline std::string Content(const std::string& path) {
  Result<std::string> text = ReadFile(path, 64u << 20);
  return text.ok() ? *text : "";
}

// Collects what an executor says. Any thread.
class TestSink {
 public:
  ExecSink sink() {
    ExecSink sink;
    sink.started = [this](AttemptRef ref, std::string process) {
      MutexLock lock(mutex_);
      started_[ref.run_id] = process;
      changed_.NotifyAll();
    };
    sink.ended = [this](AttemptRef ref, Ending ending) {
      MutexLock lock(mutex_);
      ended_[ref.run_id].push_back(std::move(ending));
      order_.push_back(ref.run_id);
      changed_.NotifyAll();
    };
    sink.inspected = [this](Inspection inspection) {
      MutexLock lock(mutex_);
      inspected_[inspection.ref.run_id] = std::move(inspection);
      changed_.NotifyAll();
    };
    return sink;
  }
  // "" where it did not come in time.
  std::string Started(const std::string& run) {
    return Await<std::string>([&]() -> std::optional<std::string> {
      auto found = started_.find(run);
      return found == started_.end() ? std::nullopt : std::optional<std::string>(found->second);
    });
  }
  pid_t StartedPid(const std::string& run) {
    const std::string text = Started(run);
    return text.starts_with("pid ") ? static_cast<pid_t>(ParseInteger(text.substr(4)).value_or(0)) : 0;
  }
  Ending Ended(const std::string& run) {
    return Await<Ending>([&]() -> std::optional<Ending> {
      auto found = ended_.find(run);
      return found == ended_.end() ? std::nullopt : std::optional<Ending>(found->second.front());
    });
  }
  Inspection Inspected(const std::string& run) {
    return Await<Inspection>([&]() -> std::optional<Inspection> {
      auto found = inspected_.find(run);
      return found == inspected_.end() ? std::nullopt : std::optional<Inspection>(found->second);
    });
  }
  // Waits until so many attempts have ended; false where they did not in time.
  bool EndedCount(size_t n) {
    return Await<bool>([&]() -> std::optional<bool> {
      return order_.size() >= n ? std::optional<bool>(true) : std::nullopt;
    });
  }
  bool HasEnded(const std::string& run) {
    MutexLock lock(mutex_);
    return ended_.count(run) > 0;
  }
  size_t EndingsOf(const std::string& run) {
    MutexLock lock(mutex_);
    auto found = ended_.find(run);
    return found == ended_.end() ? 0 : found->second.size();
  }
  std::vector<std::string> order() {
    MutexLock lock(mutex_);
    return order_;
  }
  // Gives a thing time to happen that must not: true where nothing ended in it.
  bool NothingEndsFor(int64_t ms) {
    MutexLock lock(mutex_);
    const size_t before = order_.size();
    const int64_t until = MonotonicMicros() + ms * 1000;
    while (order_.size() == before && MonotonicMicros() < until) {
      changed_.WaitFor(mutex_, std::max<int64_t>(1, (until - MonotonicMicros()) / 1000));
    }
    return order_.size() == before;
  }

 private:
  template <typename T, typename Look>
  T Await(Look look) {
    MutexLock lock(mutex_);
    const int64_t until = MonotonicMicros() + kTestPatienceMs * 1000;
    while (MonotonicMicros() < until) {
      std::optional<T> found = look();
      if (found.has_value()) return *std::move(found);
      changed_.WaitFor(mutex_, 1000);
    }
    ADD_FAILURE() << "waited " << kTestPatienceMs << " ms in vain";
    return T();
  }

  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, std::string> started_;
  std::map<std::string, std::vector<Ending>> ended_;
  std::map<std::string, Inspection> inspected_;
  std::vector<std::string> order_;
};

inline StartRequest RequestOf(const std::string& run, ExecutionRule execution) {
  RuleBody body;
  body.execution = std::move(execution);
  StartRequest request;
  request.ref = {run, 1, 1};
  request.task = "task-" + run;
  request.key = "key-" + run;
  request.timeout = body.execution.timeout;
  request.rule = std::make_shared<const RuleBody>(std::move(body));
  request.context = {{"DUECOURSE_TASK", request.task}, {"DUECOURSE_RUN_ID", run},
                     {"DUECOURSE_ATTEMPT", "1"},       {"DUECOURSE_KEY", request.key},
                     {"DUECOURSE_FENCE", "1"},         {"DUECOURSE_TIMEZONE", "Asia/Shanghai"}};
  return request;
}
inline ExecutionRule ShellRule() {
  ExecutionRule execution;
  execution.kind = ExecutionRule::Kind::kShell;
  execution.kill_grace = Seconds(3);
  return execution;
}
inline StartRequest Shell(const std::string& run, const std::string& text,
                          ExecutionRule execution = ShellRule()) {
  StartRequest request = RequestOf(run, std::move(execution));
  request.argv = {"/bin/sh", "-c", text};
  return request;
}
inline StartRequest Command(const std::string& run, std::vector<std::string> argv) {
  ExecutionRule execution = ShellRule();
  execution.kind = ExecutionRule::Kind::kCommand;
  StartRequest request = RequestOf(run, std::move(execution));
  request.argv = std::move(argv);
  return request;
}

// An executor on a folder of its own.
class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() : log_fd_(::dup(2)), log_(clock_, log_fd_.get(), LogLevel::kError) {
    options_.data_folder = folder_ / "data";
    options_.store_id = "store-" + SecretlessId();
  }
  Executor& executor() {
    if (executor_ == nullptr) executor_ = NewExecutor(options_, clock_, log_, sink_.sink());
    return *executor_;
  }
  Ending Run(StartRequest request) {
    const std::string run = request.ref.run_id;
    executor().Start(std::move(request));
    return sink_.Ended(run);
  }
  CapturedOutput OutputOf(const std::string& run) {
    Result<CapturedOutput> output = ReadOutput(options_.data_folder, run, 1);
    EXPECT_TRUE(output.ok()) << output.error().message();
    return output.ok() ? *output : CapturedOutput();
  }
  static std::string SecretlessId() { return StrCat(::getpid(), "-", MonotonicMicros()); }

  SystemClock clock_;
  Fd log_fd_;
  Log log_;
  TestFolder folder_;
  ExecOptions options_;
  TestSink sink_;
  std::unique_ptr<Executor> executor_;  // goes first
};

}  // namespace duecourse

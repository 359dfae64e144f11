#include "exec/finish.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>

#include "base/text.h"
#include "exec/journal.h"
#include "exec/output.h"
#include "exec/process.h"
#include "exec/report.h"

namespace duecourse {
namespace {

constexpr int kEndWaitMs = 1'000;
constexpr int kRestReadsMax = 64;
constexpr size_t kTailBytes = 4096;  // of each stream, for `errors` by text
constexpr size_t kSummaryLineMax = 300;

void Reap(Child& child) {
  if (child.reaped) return;
  siginfo_t info{};
  while (::waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED) != 0 && errno == EINTR) {
  }
  child.reaped = true;
}

// Whose a process is that outlived the direct child. It is known by its session or group, whose number cannot
// be used again while anybody is in it or its leader is not reaped, or by the environment it inherited.
class Survivors {
 public:
  void Add(int index, const Child& child) {
    leaders_[child.pid] = index;
    marks_[{child.ref.run_id, child.ref.fence}] = index;
  }
  int Of(const SeenProcess& process) const {
    if (leaders_.count(process.stat.pid) > 0) return -1;
    for (pid_t number : {process.stat.session, process.stat.group}) {
      auto leader = leaders_.find(number);
      if (leader != leaders_.end()) return leader->second;
    }
    if (!process.marked) return -1;
    auto mark = marks_.find({process.run_id, process.fence});
    return mark == marks_.end() ? -1 : mark->second;
  }

 private:
  std::map<pid_t, int> leaders_;
  std::map<std::pair<std::string, int64_t>, int> marks_;
};

std::string LastLine(const Capture& capture) {
  std::string tail = capture.Last(kTailBytes);
  std::string_view text = Trim(tail);
  std::string line = ShowBytes(Trim(text.substr(text.rfind('\n') + 1)), false);
  if (line.size() <= kSummaryLineMax) return line;
  return ShowBytes(line.substr(0, kSummaryLineMax), false) + "…";
}

std::string ExitSummary(const Child& child) {
  if (child.code == 0) return "";
  const std::string line = LastLine(child.err.capture);
  if (child.code == 127 || child.code == 126) {
    const bool missing = child.code == 127;
    std::string command = CommandOfShellMessage(child.err.capture.Last(kTailBytes),
                                                missing ? "not found" : "Permission denied");
    if (!command.empty()) {
      return StrCat("exit ", child.code,
                    missing ? ": command not found: " : ": not executable: ", ShowBytes(command, false));
    }
  }
  return line.empty() ? "" : StrCat("exit ", child.code, ": ", line);
}

void Describe(const Child& child, Ending& ending) {
  if (!child.kill.has_value()) {
    ending.kind = child.signalled ? Ending::Kind::kSignal : Ending::Kind::kExit;
    if (!child.signalled) ending.summary = ExitSummary(child);
    return;
  }
  const std::string how =
      child.kill_sent ? StrCat("TERM, and KILL ", FormatMillis(child.rule->execution.kill_grace), " later")
                      : "TERM";
  if (*child.kill == KillWhy::kTimeout) {
    ending.kind = Ending::Kind::kTimeout;
    ending.summary = StrCat("ended after its time-out of ", FormatMillis(child.timeout), " (", how, ")");
  } else {
    ending.kind = Ending::Kind::kKilled;
    ending.summary = StrCat("stopped: ", KillWhyText(*child.kill), " (", how, ")");
  }
}

Json Pids(const std::vector<pid_t>& pids) {
  Json list = Json::MakeArray();
  for (pid_t pid : pids) list.Add(static_cast<int64_t>(pid));
  return list;
}

Json DetailOf(const Child& child) {
  Json detail = Json::MakeObject();
  detail.Set("pid", static_cast<int64_t>(child.pid));
  detail.Set("duration_ms", (child.ended - child.started).count);
  detail.Set("output", Json::MakeObject()
                           .Set("out", CaptureFacts(child.out.capture))
                           .Set("err", CaptureFacts(child.err.capture)));
  if (child.closed_after_exit) detail.Set("closed_after_exit", true);
  if (child.kill.has_value()) {
    detail.Set("kill", Json::MakeObject()
                           .Set("why", KillWhyName(*child.kill))
                           .Set("signals", child.kill_sent ? "TERM KILL" : "TERM"));
  }
  if (!child.others_ended.empty()) detail.Set("processes_ended", Pids(child.others_ended));
  if (!child.others_kept.empty()) detail.Set("processes_kept", Pids(child.others_kept));
  return detail;
}

}  // namespace

const char* KillWhyName(KillWhy why) {
  switch (why) {
    case KillWhy::kTimeout:
      return "timeout";
    case KillWhy::kCancelled:
      return "cancelled";
    case KillWhy::kLeaseLost:
      return "lease_lost";
    case KillWhy::kWindowEnd:
      return "window_end";
    case KillWhy::kShutdown:
      return "shutdown";
  }
  return "";
}

const char* KillWhyText(KillWhy why) {
  switch (why) {
    case KillWhy::kTimeout:
      return "its time was up";
    case KillWhy::kCancelled:
      return "cancelled";
    case KillWhy::kLeaseLost:
      return "its lease was lost";
    case KillWhy::kWindowEnd:
      return "its window ended";
    case KillWhy::kShutdown:
      return "the daemon stopped";
  }
  return "";
}

std::string CommandOfShellMessage(std::string_view err_tail, std::string_view complaint) {
  // "/bin/sh: 1: mytool: not found", "sh: line 1: mytool: command not found", "sh: 1: ./x: Permission
  // denied".
  std::string_view text = Trim(err_tail);
  std::string_view line = Trim(text.substr(text.rfind('\n') + 1));
  if (!line.ends_with(complaint)) return "";
  line.remove_suffix(complaint.size());
  if (line.ends_with("command ")) line.remove_suffix(8);
  if (!line.ends_with(": ")) return "";
  line.remove_suffix(2);
  const size_t before = line.rfind(": ");
  return std::string(before == std::string_view::npos ? line : line.substr(before + 2));
}

bool Finisher::NeedsSweep(const Child& child) {
  return !child.kill.has_value() && !child.closed_after_exit && !child.rule->execution.keep_background;
}

bool Finisher::EndedAlone(Child& child) const {
  if (child.kill.has_value() || child.closed_after_exit || child.rule->execution.keep_background)
    return false;
  // Only after the reaping does a group without members answer so.
  Reap(child);
  return ::kill(-child.pid, 0) != 0 && errno == ESRCH;
}

std::vector<bool> Finisher::EndLeftovers(const std::vector<std::unique_ptr<Child>>& children) const {
  Survivors kept, unwanted;
  bool any_kept = false;
  for (size_t i = 0; i < children.size(); ++i) {
    const bool keep = children[i]->rule->execution.keep_background && !children[i]->kill.has_value();
    (keep ? kept : unwanted).Add(static_cast<int>(i), *children[i]);
    any_kept = any_kept || keep;
  }
  if (any_kept) {
    for (const SeenProcess& process : ListProcesses(options_.store_id, true)) {
      const int index = kept.Of(process);
      if (index >= 0) children[static_cast<size_t>(index)]->others_kept.push_back(process.stat.pid);
    }
  }
  std::vector<EndedProcesses> results = KillProcesses(
      options_.store_id, children.size(),
      [&unwanted](const SeenProcess& process) { return unwanted.Of(process); }, kEndWaitMs);
  std::vector<bool> gone;
  for (size_t i = 0; i < children.size(); ++i) {
    Child& child = *children[i];
    child.others_ended.insert(child.others_ended.end(), results[i].ended.begin(), results[i].ended.end());
    gone.push_back(results[i].alive.empty());
    if (gone.back()) {
      Reap(child);
      continue;
    }
    log_.Warning("process_does_not_end",
                 Json::MakeObject()
                     .Set("attempt", AttemptName(child.ref))
                     .Set("pids", Pids(results[i].alive))
                     .Set("next", "KILL is sent again; the attempt ends when they have"));
  }
  return gone;
}

void Finisher::ReadRest(ChildStream& stream) const {
  if (!stream.fd.valid()) return;
  std::array<char, 65536> buffer{};
  for (int i = 0; i < kRestReadsMax && stream.fd.valid(); ++i) {
    const ssize_t n = ::read(stream.fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    stream.capture.Add(std::string_view(buffer.data(), static_cast<size_t>(n)));
  }
  stream.fd.Reset();
}

void Finisher::ReadResult(Child& child, Ending& ending) const {
  // The command may have put anything under that name: no link is followed, nothing but a plain file is read,
  // and through the folder as it was opened before the command ran.
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Fd fd(child.result_folder.valid() ? ::openat(child.result_folder.get(), "result", kFlags)
                                    : ::open(child.result_path.c_str(), kFlags));
  if (!fd.valid()) {
    if (errno == ENOENT && child.scratch.empty()) return;  // most commands write none
    if (errno != ENOENT) AddNote(ending, StrCat("result file is not believed: ", ErrnoText(errno)));
  } else {
    struct stat info {};
    std::string text(kReportMaxBytes + 1, '\0');
    size_t filled = 0;
    const bool plain = ::fstat(fd.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
    while (plain && filled < text.size()) {
      const ssize_t n = ::read(fd.get(), text.data() + filled, text.size() - filled);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) break;
      filled += static_cast<size_t>(n);
    }
    text.resize(filled);
    if (!plain) {
      AddNote(ending, "result file is not believed: it is no plain file of its own");
    } else {
      ApplyReportText(text, "result file", ending);
    }
  }
  RemoveResult(child);
}

void Finisher::RemoveResult(const Child& child) const {
  Status removed = RemoveLeft(child.scratch.empty() ? child.result_path : child.scratch);
  if (removed.ok()) return;
  log_.Warning("result_left", Json::MakeObject()
                                  .Set("attempt", AttemptName(child.ref))
                                  .Set("error", removed.error().message())
                                  .Set("next", "nobody reads it any more; remove it by hand"));
}

Ending Finisher::Finish(Child& child) const {
  ReadRest(child.out);
  ReadRest(child.err);
  Ending ending;
  ending.code = child.code;
  ending.detail = DetailOf(child);
  Describe(child, ending);
  if (!child.marker_note.empty()) AddNote(ending, child.marker_note);
  const std::string ours = ending.summary;
  ReadResult(child, ending);
  if (child.kill.has_value() && ending.summary != ours)
    ending.summary = StrCat(ours, "; it had said: ", ending.summary);
  ending.summary = Redact(std::move(ending.summary));
  ending.output_tail = StrCat(child.out.capture.Last(kTailBytes), "\n", child.err.capture.Last(kTailBytes));
  Status stored = StoreOutput({options_.data_folder, child.ref.run_id, child.ref.attempt, child.out.capture,
                               child.err.capture, clock_.Wall() + child.rule->execution.output_keep});
  if (!stored.ok()) AddNote(ending, StrCat("output was not kept: ", stored.error().message()));
  return ending;
}

void Finisher::Sweep(const std::set<std::pair<std::string, int64_t>>& attempts) const {
  std::vector<EndedProcesses> result = KillProcesses(
      options_.store_id, 1,
      [&attempts](const SeenProcess& process) {
        return process.marked && attempts.count({process.run_id, process.fence}) > 0 ? 0 : -1;
      },
      kEndWaitMs);
  if (result[0].ended.empty() && result[0].alive.empty()) return;
  log_.Warning("background_processes_ended",
               Json::MakeObject()
                   .Set("ended", Pids(result[0].ended))
                   .Set("alive", Pids(result[0].alive))
                   .Set("why", "their attempt had ended, and its rule keeps no background children"));
}

}  // namespace duecourse

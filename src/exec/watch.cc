#include "exec/watch.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/text.h"
#include "exec/journal.h"
#include "exec/process.h"

namespace duecourse {
namespace {

// What one token of epoll means: which command, and which of its descriptors. Ids are never used again, so an
// event that comes late cannot hit another command that got the same descriptor number.
enum Part : uint64_t { kExit = 0, kOut = 1, kErr = 2 };
constexpr uint64_t kParts = 4;
constexpr uint64_t kWakeToken = 0;  // ids begin at 1

constexpr size_t kReadBytes =
    64u << 10;  // a pipe's usual size: one read a turn empties it, and no stream starves the rest
constexpr int kReadsAfterExit = 64;  // what is in the pipe at exit, of whatever size it was made
constexpr int64_t kFollowersPauseUs = 50'000;
constexpr int64_t kKillAgainUs = 5'000'000;
constexpr int kEventsMax = 64;

}  // namespace

Watch::Watch(WatchOptions options)
    : options_(std::move(options)),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  CHECK(epoll_.valid());
  CHECK(wake_.valid());
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = kWakeToken;
  CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_.get(), &event) == 0);
  buffer_.resize(kReadBytes);
  thread_ = std::thread([this] { Run(); });
}

Watch::~Watch() { Stop(); }

void Watch::Stop() {
  stopping_ = true;
  AfterReal(0, nullptr);
  if (thread_.joinable()) thread_.join();
}

void Watch::Add(std::unique_ptr<Child> child) {
  const std::array<int, 3> fds = {child->pidfd.get(), child->out.fd.get(), child->err.fd.get()};
  const Millis left = child->started + child->timeout - options_.clock.Monotonic();
  child->deadline_us = MonotonicMicros() + std::max<int64_t>(0, RealUs(left));
  uint64_t id = 0;
  bool wake = false;
  {
    MutexLock lock(mutex_);
    id = next_id_++;
    wake = child->deadline_us < sleeps_until_us_;
    inbox_.added.emplace_back(id, std::move(child));
  }
  // From here, so that the thread need not wake up for it: whatever it hears of a command it does not know
  // yet is in its inbox. The exit comes last, for after it the command, with its descriptors, may be gone.
  for (uint64_t part : {kOut, kErr, kExit}) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = id * kParts + part;
    CHECK(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fds[part], &event) == 0);
  }
  if (wake) ::eventfd_write(wake_.get(), 1);
}

void Watch::Kill(const AttemptRef& ref, KillWhy why) {
  MutexLock lock(mutex_);
  inbox_.kills.emplace_back(AttemptName(ref), why);
  if (sleeps_until_us_ != 0) ::eventfd_write(wake_.get(), 1);
}

void Watch::After(Millis span, std::unique_ptr<Job> job) { AfterReal(RealUs(span), std::move(job)); }

void Watch::AfterReal(int64_t us, std::unique_ptr<Job> job) {
  const int64_t at_us = MonotonicMicros() + us;
  MutexLock lock(mutex_);
  inbox_.timers.emplace_back(at_us, std::move(job));
  if (at_us < sleeps_until_us_) ::eventfd_write(wake_.get(), 1);
}

int64_t Watch::RealUs(Millis span) const {
  // Ten years, the longest span a rule can name, are far inside of int64 here.
  return static_cast<int64_t>(static_cast<double>(span.count) * 1000.0 / options_.clock_rate);
}

void Watch::Run() {
  ::pthread_setname_np(::pthread_self(), "dc-watch");  // for whoever looks at the threads of a busy daemon
  std::array<epoll_event, kEventsMax> events{};
  while (!stopping_) {
    const int n = ::epoll_wait(epoll_.get(), events.data(), kEventsMax, WaitMs());
    TakeInbox();
    for (int i = 0; i < n; ++i) OnEvent(events[static_cast<size_t>(i)].data.u64);
    RunTimers();
  }
}

void Watch::TakeInbox() {
  Inbox inbox;
  {
    MutexLock lock(mutex_);
    std::swap(inbox, inbox_);
    sleeps_until_us_ = 0;
  }
  for (auto& child : inbox.added) Adopt(child.first, std::move(child.second));
  for (const auto& kill : inbox.kills) {
    auto id = ids_.find(kill.first);
    if (id != ids_.end()) Terminate(id->second, watched_.at(id->second), kill.second);
  }
  for (auto& timer : inbox.timers) {
    if (timer.second != nullptr) timers_.emplace(timer.first, std::move(timer.second));
  }
}

void Watch::Adopt(uint64_t id, std::unique_ptr<Child> child) {
  Watched& watched = watched_[id];
  watched.child = std::move(child);
  ids_[AttemptName(watched.child->ref)] = id;
  watched.state_until_us = watched.child->deadline_us;
  SetWake(id, watched, watched.state_until_us);
}

// How long to sleep; says so to those who post meanwhile.
int Watch::WaitMs() {
  int64_t next = INT64_MAX;
  if (!wakes_.empty()) next = wakes_.begin()->first;
  if (!timers_.empty()) next = std::min(next, timers_.begin()->first);
  const int64_t now = MonotonicMicros();
  MutexLock lock(mutex_);
  if (!inbox_.empty()) return 0;
  sleeps_until_us_ = next;
  if (next == INT64_MAX) return -1;
  const int64_t left_us = std::max<int64_t>(0, next - now);
  return static_cast<int>(std::min<int64_t>((left_us + 999) / 1000, 3'600'000));
}

void Watch::RunTimers() {
  const int64_t now = MonotonicMicros();
  while (!wakes_.empty() && wakes_.begin()->first <= now) {
    const uint64_t id = wakes_.begin()->second;
    wakes_.erase(wakes_.begin());
    Watched& watched = watched_.at(id);
    watched.wake_us = 0;
    Wake(id, watched);
  }
  while (!timers_.empty() && timers_.begin()->first <= now) {
    std::unique_ptr<Job> job = std::move(timers_.begin()->second);
    timers_.erase(timers_.begin());
    job->Run();
  }
}

void Watch::OnEvent(uint64_t token) {
  if (token == kWakeToken) {
    eventfd_t count = 0;
    ::eventfd_read(wake_.get(), &count);
    return;
  }
  auto found = watched_.find(token / kParts);
  if (found == watched_.end()) return;
  Watched& watched = found->second;
  if (token % kParts == kExit) {
    if (!watched.child->exited) OnExit(found->first, watched);
    return;
  }
  ReadSome(watched, token % kParts == kOut ? watched.child->out : watched.child->err);
  const bool at_end = !watched.child->out.fd.valid() && !watched.child->err.fd.valid();
  if (at_end && watched.state == Watched::State::kDraining) Done(found->first);
}

// False where nothing more can be read at the moment, or ever.
bool Watch::ReadSome(Watched& watched, ChildStream& stream) {
  if (!stream.fd.valid()) return false;
  const ssize_t n = ::read(stream.fd.get(), buffer_.data(), buffer_.size());
  if (n > 0) {
    stream.capture.Add(std::string_view(buffer_.data(), static_cast<size_t>(n)));
    watched.last_data_us = MonotonicMicros();
    return true;
  }
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  CloseStream(stream);
  return false;
}

void Watch::ReadAll(Watched& watched, ChildStream& stream) {
  for (int i = 0; i < kReadsAfterExit && ReadSome(watched, stream); ++i) {
  }
}

void Watch::CloseStream(ChildStream& stream) {
  // Out of epoll before it is closed: a child between its vfork and its exec holds a copy that would keep it
  // there.
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream.fd.get(), nullptr);
  stream.fd.Reset();
}

void Watch::OnExit(uint64_t id, Watched& watched) {
  Child& child = *watched.child;
  siginfo_t info{};
  if (::waitid(P_PIDFD, static_cast<id_t>(child.pidfd.get()), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno == EINTR) return;  // epoll says it again
    // Somebody else reaped our child; how it ended is lost, and only KILL is a safe thing to say of it.
    options_.log.Problem("attempt_status_lost", Json::MakeObject().Set("attempt", AttemptName(child.ref)));
    info.si_code = CLD_KILLED;
    info.si_status = SIGKILL;
    info.si_pid = child.pid;
  }
  if (info.si_pid == 0) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, child.pidfd.get(), nullptr);
  child.exited = true;
  child.signalled = info.si_code != CLD_EXITED;
  child.code = info.si_status;
  child.ended = options_.clock.Monotonic();
  ReadAll(watched, child.out);
  ReadAll(watched, child.err);
  const int64_t now = MonotonicMicros();
  switch (watched.state) {
    case Watched::State::kRunning:
      if (!child.out.fd.valid() && !child.err.fd.valid()) return Done(id);
      watched.state = Watched::State::kDraining;
      watched.last_data_us = now;
      watched.state_until_us = now + kDrainMaxUs;
      return SetWake(id, watched, now + kDrainIdleUs);
    case Watched::State::kTerminating:
      return WakeTerminating(id, watched);
    case Watched::State::kKilling:
      return Done(id);
    case Watched::State::kDraining:
      return;
  }
}

void Watch::Terminate(uint64_t id, Watched& watched, KillWhy why) {
  if (watched.state != Watched::State::kRunning) return;  // it is ending already
  Child& child = *watched.child;
  child.kill = why;
  watched.state = Watched::State::kTerminating;
  // A stopped process takes note of TERM only once it goes on.
  ::kill(-child.pid, SIGTERM);
  ::kill(-child.pid, SIGCONT);
  watched.state_until_us = MonotonicMicros() + RealUs(child.rule->execution.kill_grace);
  SetWake(id, watched, watched.state_until_us);
}

void Watch::Wake(uint64_t id, Watched& watched) {
  Child& child = *watched.child;
  const int64_t now = MonotonicMicros();
  switch (watched.state) {
    case Watched::State::kRunning:
      if (now >= watched.state_until_us) return Terminate(id, watched, KillWhy::kTimeout);
      return SetWake(id, watched, watched.state_until_us);
    case Watched::State::kTerminating:
      return WakeTerminating(id, watched);
    case Watched::State::kKilling:
      ::kill(-child.pid, SIGKILL);
      options_.log.Warning("process_does_not_end",
                           Json::MakeObject()
                               .Set("attempt", AttemptName(child.ref))
                               .Set("pid", static_cast<int64_t>(child.pid))
                               .Set("next", "KILL is sent again every 5 s until it has ended"));
      return SetWake(id, watched, now + kKillAgainUs);
    case Watched::State::kDraining: {
      const int64_t end = std::min(watched.last_data_us + kDrainIdleUs, watched.state_until_us);
      if (now < end) return SetWake(id, watched, end);
      return Done(id);
    }
  }
}

void Watch::WakeTerminating(uint64_t id, Watched& watched) {
  Child& child = *watched.child;
  const int64_t now = MonotonicMicros();
  if (child.exited && !HasFollowers(child.pid)) return Done(id);
  if (now < watched.state_until_us) {
    const int64_t look = child.exited ? now + kFollowersPauseUs : watched.state_until_us;
    return SetWake(id, watched, std::min(look, watched.state_until_us));
  }
  child.kill_sent = true;
  watched.state = Watched::State::kKilling;
  ::kill(-child.pid, SIGKILL);
  if (child.exited) return Done(id);
  SetWake(id, watched, now + kKillAgainUs);
}

void Watch::SetWake(uint64_t id, Watched& watched, int64_t at_us) {
  if (watched.wake_us != 0) wakes_.erase({watched.wake_us, id});
  watched.wake_us = std::max<int64_t>(1, at_us);
  wakes_.emplace(watched.wake_us, id);
}

void Watch::Done(uint64_t id) {
  auto found = watched_.find(id);
  ReadAll(found->second, found->second.child->out);
  ReadAll(found->second, found->second.child->err);
  std::unique_ptr<Child> child = std::move(found->second.child);
  if (found->second.wake_us != 0) wakes_.erase({found->second.wake_us, id});
  ids_.erase(AttemptName(child->ref));
  watched_.erase(found);
  for (ChildStream* stream : {&child->out, &child->err}) {
    if (!stream->fd.valid()) continue;
    child->closed_after_exit = true;
    // What is left in it is read once nobody writes any more; the descriptor goes along.
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, stream->fd.get(), nullptr);
  }
  options_.ended(std::move(child));
}

bool Watch::HasFollowers(pid_t session) {
  // One look at /proc serves all that are ending at this time.
  const int64_t now = MonotonicMicros();
  if (followers_us_ == 0 || now - followers_us_ > kFollowersPauseUs / 2) {
    followers_ = SessionsWithFollowers();
    followers_us_ = now;
  }
  return followers_.count(session) > 0;
}

}  // namespace duecourse

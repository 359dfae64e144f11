#include "exec/launch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/text.h"
#include "exec/failpoint.h"

namespace duecourse {
namespace {

constexpr int kExitConfiguration = 78;  // EX_CONFIG of sysexits(3)
constexpr int kExitNotExecutable = 126;
constexpr int kExitNotFound = 127;

Ending ExitEnding(int code, const std::string& text) {
  Ending ending;
  ending.kind = Ending::Kind::kExit;
  ending.code = code;
  ending.summary = StrCat("exit ", code, ": ", text);
  ending.detail = Json::MakeObject().Set("started", false);
  return ending;
}

// What kept an attempt from its start was only that there was no room.
std::optional<SpawnFault> NoRoom(int error) {
  if (error != EMFILE && error != ENFILE && error != ENOMEM) return std::nullopt;
  return SpawnFault{error, "preparation"};
}

}  // namespace

struct Launcher::Prepared {
  std::optional<Account> other;  // where it is not the daemon's own
  Fd cwd;
  std::string cwd_path;
  std::string result_path;
  std::string scratch;
  Fd result_folder;
  SpawnPlan plan;
  int error = 0;  // the errno of what kept it from its start, where one did

  // That ending, with its errno noted.
  Ending NotStarted(const std::string& summary, int os_error) {
    error = os_error;
    return NotStartedEnding(summary);
  }
};

Ending ConfigurationEnding(const std::string& said_code, const std::string& summary) {
  Ending ending;
  ending.kind = Ending::Kind::kExit;
  ending.code = kExitConfiguration;
  ending.said_code = said_code;
  ending.summary = StrCat("not started: ", summary);
  ending.detail = Json::MakeObject().Set("started", false);
  return ending;
}

Ending NotStartedEnding(const std::string& summary) {
  Ending ending;
  ending.kind = Ending::Kind::kNotStarted;
  ending.request_sent = false;
  ending.summary = StrCat("not started: ", summary);
  ending.detail = Json::MakeObject().Set("started", false);
  return ending;
}

Ending FaultEnding(const SpawnFault& fault, const std::string& program) {
  if (fault.step == "setgroups" || fault.step == "setgid" || fault.step == "setuid") {
    return ConfigurationEnding(
        "user_refused", StrCat("the user could not be taken on: ", fault.step, ": ", ErrnoText(fault.error)));
  }
  if (fault.step == "chdir") {
    return ConfigurationEnding("workdir_unusable",
                               StrCat("its folder cannot be entered: ", ErrnoText(fault.error)));
  }
  if (fault.step != "exec") return NotStartedEnding(StrCat(fault.step, ": ", ErrnoText(fault.error)));
  switch (fault.error) {
    case ENOENT:
      return ExitEnding(kExitNotFound,
                        StrCat("command not found: ", program,
                               " is there, but the interpreter that its first line names is not"));
    case ENOEXEC:
      return ExitEnding(kExitNotExecutable,
                        StrCat("not executable: ", program,
                               " is neither a program for this machine nor a script that begins with #!"));
    case EACCES:
      return ExitEnding(kExitNotExecutable, StrCat("not executable: ", program, ": ", ErrnoText(EACCES)));
    case E2BIG:
      return ExitEnding(kExitNotExecutable,
                        StrCat("not executable: ", program, ": its arguments and environment are too large"));
    default:
      return ExitEnding(kExitNotExecutable,
                        StrCat("not executable: ", program, ": ", ErrnoText(fault.error)));
  }
}

std::string WorkFolder(const std::string& data_folder, const std::string& task) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string name;
  for (char c : task) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    if (plain || (c == '.' && !name.empty())) {
      name += c;
    } else {
      const unsigned char byte = static_cast<unsigned char>(c);
      name += {'%', kHex[byte >> 4], kHex[byte & 0xF]};
    }
  }
  return StrCat(data_folder, "/tasks/", name);
}

Launcher::Launcher(const ExecOptions& options, const Clock& clock, StartJournal& journal, uint64_t soft_files)
    : options_(options),
      clock_(clock),
      data_(options.data_folder),
      journal_(journal),
      soft_files_(soft_files),
      own_(OwnAccount()),
      null_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {
  CHECK(null_.valid());
}

std::optional<Ending> Launcher::PrepareAccount(const StartRequest& request, Prepared& prepared) const {
  const std::string& user = request.rule->execution.user;
  if (user.empty()) return std::nullopt;
  Result<Account> account = FindAccount(user);
  if (!account.ok()) {
    prepared.error = account.error().os_error();
    return ConfigurationEnding("user_unknown", account.error().message());
  }
  if (account->uid == own_.uid) return std::nullopt;
  if (own_.uid != 0) {
    return ConfigurationEnding("user_refused",
                               StrCat("user ", user, ": the daemon runs as ", own_.name,
                                      "; only one that runs as root can start commands as somebody else"));
  }
  prepared.other = *account;
  return std::nullopt;
}

// The task's private folder, at its first command, and the folder of them all where somebody removed it.
std::optional<Ending> Launcher::MakeOwnFolder(Prepared& prepared) const {
  const char* path = prepared.cwd_path.c_str();
  int error = ::mkdir(path, 0700) == 0 ? 0 : errno;
  if (error == ENOENT) {
    Status remade = data_.Remake("tasks");
    if (!remade.ok())
      return prepared.NotStarted(StrCat("workdir ", path, ": ", remade.error().message()),
                                 remade.error().os_error());
    error = ::mkdir(path, 0700) == 0 ? 0 : errno;
  }
  if (error == 0 || error == EEXIST) return std::nullopt;
  return prepared.NotStarted(StrCat("workdir ", path, ": ", ErrnoText(error)), error);
}

std::optional<Ending> Launcher::PrepareFolder(const StartRequest& request, Prepared& prepared) const {
  const bool own = request.cwd.empty();
  prepared.cwd_path = own ? WorkFolder(options_.data_folder, request.task) : request.cwd;
  auto open = [&prepared] {
    prepared.cwd = Fd(::open(prepared.cwd_path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return prepared.cwd.valid();
  };
  if (!open() && own && errno == ENOENT) {
    if (std::optional<Ending> ending = MakeOwnFolder(prepared)) return ending;
    open();
  }
  if (!prepared.cwd.valid()) {
    const int error = errno;
    const bool missing = error == ENOENT;
    prepared.error = error;
    return ConfigurationEnding(missing ? "workdir_missing" : "workdir_unusable",
                               missing ? StrCat("workdir ", prepared.cwd_path, " does not exist")
                                       : StrCat("workdir ", prepared.cwd_path, ": ", ErrnoText(error)));
  }
  if (own && prepared.other.has_value() &&
      ::fchownat(prepared.cwd.get(), "", prepared.other->uid, prepared.other->gid, AT_EMPTY_PATH) != 0) {
    const int error = errno;
    return prepared.NotStarted(StrCat("workdir ", prepared.cwd_path, ": cannot be given to ",
                                      prepared.other->name, ": ", ErrnoText(error)),
                               error);
  }
  return std::nullopt;
}

// Another user cannot enter the data folder, so that its result file has a folder of its own elsewhere.
std::optional<Ending> Launcher::PrepareResult(const StartRequest& request, Prepared& prepared) const {
  if (!prepared.other.has_value()) {
    prepared.result_path = ResultPath(options_.data_folder, request.ref);
    return std::nullopt;
  }
  std::string folder = StrCat(options_.scratch_folder, "/duecourse-XXXXXX");
  if (::mkdtemp(folder.data()) == nullptr) {
    const int error = errno;
    return prepared.NotStarted(StrCat("folder for the result file, ", folder, ": ", ErrnoText(error)), error);
  }
  prepared.scratch = folder;
  prepared.result_path = StrCat(folder, "/result");
  prepared.result_folder = Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!prepared.result_folder.valid() ||
      ::fchown(prepared.result_folder.get(), prepared.other->uid, prepared.other->gid) != 0) {
    const int error = errno;
    ::rmdir(folder.c_str());
    return prepared.NotStarted(StrCat("folder for the result file, ", folder, ": ", ErrnoText(error)), error);
  }
  return std::nullopt;
}

std::optional<Ending> Launcher::PrepareProgram(const StartRequest& request, Prepared& prepared) const {
  if (request.argv.empty()) return ConfigurationEnding("command_missing", "the command is empty");
  for (const std::string& argument : request.argv) {
    if (argument.find('\0') == std::string::npos) continue;
    return ConfigurationEnding("argument_unusable",
                               "an argument has a NUL byte in it, which no program can be given");
  }
  const Account& account = prepared.other.has_value() ? *prepared.other : own_;
  Result<Environment> environment =
      BuildEnvironment({request, account, options_.store_id, prepared.result_path});
  if (!environment.ok()) {
    prepared.error = environment.error().os_error();
    return ConfigurationEnding("environment_unusable", environment.error().message());
  }
  const std::string_view path = environment->Find("PATH").value_or("");
  ProgramPlace place = FindProgram(request.argv[0], path, prepared.cwd_path);
  if (place.found == ProgramPlace::Found::kNotFound) {
    const bool has_folder = request.argv[0].find('/') != std::string::npos;
    return ExitEnding(
        kExitNotFound,
        StrCat("command not found: ", request.argv[0], " (looked in ",
               has_folder ? AbsolutePath(JoinPath(prepared.cwd_path, request.argv[0])) : std::string(path),
               ")"));
  }
  if (place.found == ProgramPlace::Found::kNotExecutable) {
    return ExitEnding(kExitNotExecutable, StrCat("not executable: ", place.path));
  }
  SpawnPlan& plan = prepared.plan;
  plan.program = place.path;
  plan.argv = request.argv;
  plan.environment = std::move(*environment).Take();
  plan.cwd = prepared.cwd.get();
  plan.helper_program = options_.helper_program;
  plan.umask_bits = static_cast<mode_t>(request.rule->execution.umask_bits);
  plan.in = null_.get();
  plan.account = prepared.other;
  plan.soft_files = soft_files_;
  return std::nullopt;
}

std::optional<Ending> Launcher::Prepare(const StartRequest& request, Prepared& prepared) const {
  std::optional<Ending> ending = PrepareAccount(request, prepared);
  if (!ending.has_value()) ending = PrepareFolder(request, prepared);
  if (!ending.has_value()) ending = PrepareResult(request, prepared);
  if (!ending.has_value()) ending = PrepareProgram(request, prepared);
  return ending;
}

Launcher::Launched Launcher::Launch(const StartRequest& request) const {
  Prepared prepared;
  std::optional<Ending> ending = Prepare(request, prepared);
  Launched launched = ending.has_value() ? Launched(*std::move(ending)) : Run(request, prepared);
  if (!std::holds_alternative<std::unique_ptr<Child>>(launched)) {
    // Certainly nothing runs, so nothing may say that it might.
    if (!prepared.scratch.empty()) ::rmdir(prepared.scratch.c_str());
    journal_.End({request.ref});
  }
  if (std::holds_alternative<Ending>(launched)) {
    std::optional<SpawnFault> no_room = NoRoom(prepared.error);
    if (no_room.has_value()) return *std::move(no_room);
  }
  return launched;
}

Launcher::Launched Launcher::Run(const StartRequest& request, Prepared& prepared) const {
  Failpoint("exec.before_marker");
  Status marked = journal_.Start(request.ref, prepared.scratch);
  if (!marked.ok()) return prepared.NotStarted(marked.error().message(), marked.error().os_error());
  Failpoint("exec.after_marker");
  auto child = std::make_unique<Child>(request.rule->execution.output_max);
  child->started = clock_.Monotonic();
  std::variant<Spawned, SpawnFault> spawned = Spawn(prepared.plan);
  if (const SpawnFault* fault = std::get_if<SpawnFault>(&spawned)) {
    if (fault->exhausted()) return *fault;
    return FaultEnding(*fault, prepared.plan.program);
  }
  Failpoint("exec.after_spawn");
  Spawned& running = std::get<Spawned>(spawned);
  child->ref = request.ref;
  child->rule = request.rule;
  child->pid = running.pid;
  // Without this line the process would still be found by its environment.
  Status noted = journal_.Process(request.ref, child->pid, running.birth);
  child->marker_note = noted.ok() ? "" : noted.error().message();
  child->pidfd = std::move(running.pidfd);
  child->out.fd = std::move(running.out);
  child->err.fd = std::move(running.err);
  child->timeout = request.timeout;
  child->result_path = prepared.result_path;
  child->scratch = prepared.scratch;
  child->result_folder = std::move(prepared.result_folder);
  return child;
}

}  // namespace duecourse

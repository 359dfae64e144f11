#include "cli/client.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/access.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/report.h"
#include "net/http_client.h"
#include "net/listen.h"

namespace duecourse {

Places FindPlaces(const Args& args) {
  Places places;
  places.load.config_named = args.Has("--config");
  places.load.config_path = args.Get("--config", "duecourse.yaml");
  places.load.rules_path = args.Get("--rules");
  std::string data = args.Get("--data");
  if (data.empty()) {
    // The settings say where; a file that cannot be read is reported by whoever needs the rules.
    ServerConfig config = LoadSettings(places.load).config;
    data = JoinPath(config.folder, config.data);
  }
  places.data = AbsolutePath(data);
  places.socket =
      args.Has("--socket") ? AbsolutePath(args.Get("--socket")) : JoinPath(places.data, "daemon.sock");
  return places;
}

static std::string Escape(const std::string& text) {
  static const char* const kHex = "0123456789ABCDEF";
  std::string out;
  for (unsigned char c : text) {
    if (std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out.push_back(static_cast<char>(c));
    } else {
      out += '%';
      out += kHex[c >> 4];
      out += kHex[c & 15];
    }
  }
  return out;
}

// Longer than the daemon takes to say that it has no answer (HttpServerOptions::reply_deadline).
constexpr Millis kPatience = Seconds(75);

// Nobody there, nobody for us, or nobody's answer: only the first can be cured by starting a daemon.
static std::string Unanswered(const std::string& socket, const HttpResult& result) {
  if (result.error == HttpError::kConnect) {
    // A start with --init would not help whom the folder of a store that is there is closed to.
    if (const std::string denied = WhyDenied(socket, R_OK | W_OK); !denied.empty()) {
      return StrCat("no daemon answers on ", socket, ": permission denied: ", denied,
                    "\nonly the daemon's own user may ask it: ask as that user, or name another daemon with "
                    "--data or --socket");
    }
    struct stat info {};
    const bool there = ::lstat(socket.c_str(), &info) == 0;
    return StrCat("no daemon answers on ", socket, there ? ": nobody listens there (" : ": there is no such socket (",
                  there ? "the daemon has stopped" : "no daemon runs here, or its data folder is elsewhere: --data",
                  ")\nstart one with: duecourse serve (the first time: duecourse serve --init)");
  }
  return StrCat("the daemon on ", socket, result.error == HttpError::kTimeout ? " did not answer in time: "
                                                                              : " broke off: ",
                result.message, "\nwhat you asked for may still happen: look (duecourse doctor, why, runs) before "
                                "you ask again");
}

static DaemonAnswer Ask(const Args& args, HttpClientCall call, Millis patience = kPatience) {
  Places places = FindPlaces(args);
  if (const Status path = CheckUnixPathLength(places.socket); !path.ok()) {
    DaemonAnswer unasked;
    unasked.message = StrCat("no daemon answers: ", path.error().message(), "\nnothing was asked of it");
    return unasked;
  }
  call.unix_socket = places.socket;
  call.url = "http://daemon" + call.url;
  call.timeout = patience;
  call.connect_timeout = std::min(patience, call.connect_timeout);
  call.max_response_bytes = 256u << 20;
  HttpClient client;
  HttpResult result = client.Call(std::move(call));
  DaemonAnswer answer;
  if (result.error != HttpError::kNone) {
    answer.message = Unanswered(places.socket, result);
    return answer;
  }
  answer.status = result.status;
  answer.raw = result.body;
  Result<Json> body = Json::Parse(result.body);
  if (body.ok()) answer.body = *body;
  answer.message = answer.body.Get("message").AsString();
  return answer;
}

DaemonAnswer Get(const Args& args, const std::string& path,
                 const std::vector<std::pair<std::string, std::string>>& params) {
  return GetWithin(args, kPatience, path, params);
}

DaemonAnswer GetWithin(const Args& args, Millis patience, const std::string& path,
                       const std::vector<std::pair<std::string, std::string>>& params) {
  HttpClientCall call;
  call.url = path;
  char separator = '?';
  for (const auto& [name, value] : params) {
    if (value.empty()) continue;
    call.url += StrCat(std::string(1, separator), Escape(name), "=", Escape(value));
    separator = '&';
  }
  return Ask(args, std::move(call), patience);
}

DaemonAnswer Post(const Args& args, const std::string& path, const Json& body) {
  HttpClientCall call;
  call.method = "POST";
  call.url = path;
  call.body = body.Dump();
  call.headers.push_back({"Content-Type", "application/json"});
  return Ask(args, std::move(call));
}

bool Good(const Args& args, const DaemonAnswer& answer, int* exit_code) {
  if (answer.status == 200) return true;
  *exit_code = answer.status == 409 ? kExitRefused : answer.status == 400 ? kExitUsage : kExitProblem;
  Fail(args, *exit_code,
       answer.message.empty() ? StrCat("the daemon answered ", answer.status) : answer.message, answer.body);
  return false;
}

int Finish(const Args& args, const DaemonAnswer& answer) {
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
  } else if (!answer.message.empty()) {
    std::printf("%s\n", ShowBytes(answer.message, true).c_str());
  }
  return kExitFine;
}

void NoteMore(const Args& args, const DaemonAnswer& answer, size_t shown) {
  if (args.json() || !answer.body.Get("more").AsBool()) return;  // who reads JSON has `more` there
  Tell(args, StrCat("there are more than the ", shown, " shown: --limit N (at most 1000)"));
}

Json WhoAndWhy(const Args& args) {
  std::string by = args.Get("--by");
  if (by.empty()) {
    const passwd* user = ::getpwuid(::getuid());
    by = user != nullptr ? user->pw_name : StrCat("uid ", static_cast<int64_t>(::getuid()));
  }
  Json body = Json::MakeObject();
  body.Set("by", by).Set("reason", args.Get("--reason"));
  return body;
}

std::vector<Finding> ErrorsOf(const Loaded& loaded) {
  std::vector<Finding> errors = loaded.findings;
  std::erase_if(errors, [](const Finding& finding) { return finding.severity != Finding::Severity::kError; });
  return errors;
}

std::string Table(const std::vector<std::vector<std::string>>& bare) {
  // Names, values and reasons are what somebody typed or a program said.
  std::vector<std::vector<std::string>> rows = bare;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = ShowBytes(cell, false);
  }
  std::vector<size_t> widths;
  auto width = [](const std::string& cell) {
    return static_cast<size_t>(
        std::count_if(cell.begin(), cell.end(), [](char c) { return (c & 0xC0) != 0x80; }));
  };
  for (const auto& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      if (i >= widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], width(row[i]));
    }
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - width(row[i]) + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out += line + "\n";
  }
  return out;
}

}  // namespace duecourse

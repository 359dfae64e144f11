#include "alert/channel.h"
#include "alert/shown.h"
#include "base/child.h"
#include "base/text.h"

namespace duecourse {
namespace {

// An environment variable's value has no NUL, and the kernel refuses one beyond 128 KiB; the JSON has all of
// it.
std::string Variable(const std::string& value) {
  constexpr size_t kLongest = 16u << 10;
  std::string out = value.substr(0, value.find('\0'));
  if (out.size() > kLongest) out = Shown(out, kLongest);
  return out;
}

}  // namespace

Delivery SendByCommand(const ChannelConfig& channel, const AlertMessage& message, const ChannelTools& tools) {
  Result<Json> json = Json::Parse(message.json);
  const Json alert = json.ok() ? *json : Json::MakeObject();
  ChildRequest request;
  request.argv = channel.command;
  request.folder = tools.folder;
  request.cancel_fd = tools.cancel_fd;
  request.input = message.json;
  request.output_max = 4096;
  request.timeout = channel.timeout;
  request.env = {{"DUECOURSE_ALERT_ID", Variable(message.id)},
                 {"DUECOURSE_ALERT_LEVEL", Variable(message.level)},
                 {"DUECOURSE_ALERT_EVENT", Variable(alert.Get("event").AsString())},
                 {"DUECOURSE_ALERT_TASK", Variable(alert.Get("task").AsString())},
                 {"DUECOURSE_ALERT_RUN_ID", Variable(alert.Get("run").AsString())},
                 {"DUECOURSE_ALERT_KEY", Variable(alert.Get("key").AsString())},
                 {"DUECOURSE_ALERT_TITLE", Variable(message.title)},
                 {"DUECOURSE_ALERT_TEXT", Variable(message.text)}};
  if (!tools.store_id.empty()) request.env.emplace_back("DUECOURSE_STORE_ID", tools.store_id);
  const ChildEnding ending = RunChild(request);
  Delivery delivery;
  delivery.taken = ending.kind == ChildEnding::Kind::kExit && ending.code == 0;
  if (delivery.taken) return delivery;
  const std::string last = LastLine(ending.output, kShownTitle);
  delivery.error = Shown(last.empty() ? ending.text : StrCat(ending.text, ": ", last), kShownLine);
  return delivery;
}

}  // namespace duecourse

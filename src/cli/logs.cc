// duecourse logs: an attempt's output, head and tail, safe to show; --raw gives the bytes.
#include <cstdio>

#include "base/text.h"
#include "cli/client.h"
#include "cli/find.h"
#include "cli/report.h"
#include "cli/verbs.h"

namespace duecourse {

static void Stream(const char* name, const Json& stream) {
  int64_t bytes = stream.Get("bytes").AsInteger();
  if (bytes == 0) return;
  int64_t dropped = stream.Get("dropped").AsInteger();
  std::printf("== %s, %lld bytes%s\n", name, static_cast<long long>(bytes),
              dropped > 0 ? StrCat(", ", dropped, " dropped between head and tail").c_str() : "");
  const std::string& text = stream.Get("text").AsString();
  std::printf("%s%s", text.c_str(), text.ends_with('\n') ? "" : "\n");
}

// What could not be kept or believed of the attempt; whether its output is among that.
static bool Notes(const Json& notes) {
  bool output_lost = false;
  for (const Json& note : notes.AsArray()) {
    output_lost = output_lost || note.AsString().starts_with("output was not kept");
    std::printf("== %s\n", ShowBytes(note.AsString(), false).c_str());
  }
  return output_lost;
}

int LogsVerb(const Args& args) {
  const std::string raw = args.Get("--raw");
  if (args.Has("--raw") && raw != "out" && raw != "err")
    return UsageFault(args, StrCat("--raw \"", raw, "\": it is out or err"));
  const std::optional<std::string> id = FindRunId(args, args.At(0));
  if (!id) return kExitProblem;
  DaemonAnswer answer =
      Get(args, StrCat("/api/v1/runs/", *id, "/output"), {{"attempt", args.Get("--attempt")}, {"raw", raw}});
  if (answer.status == 404 && SayIfUnknownRun(args, *id)) return kExitProblem;
  int code = kExitFine;
  if (!Good(args, answer, &code)) return code;
  if (args.Has("--raw")) {
    std::fwrite(answer.raw.data(), 1, answer.raw.size(), stdout);
  } else if (args.json()) {
    std::printf("%s\n", answer.body.DumpPretty().c_str());
  } else {
    std::printf("run %s, attempt %lld\n", id->c_str(),
                static_cast<long long>(answer.body.Get("attempt").AsInteger()));
    Stream("stdout", answer.body.Get("stdout"));
    Stream("stderr", answer.body.Get("stderr"));
    const bool output_lost = Notes(answer.body.Get("notes"));
    const bool wrote = answer.body.Get("stdout").Get("bytes").AsInteger() > 0 ||
                       answer.body.Get("stderr").Get("bytes").AsInteger() > 0;
    if (answer.body.Has("waits_for")) {
      std::printf("== it has not started: it waits for %s\n",
                  answer.body.Get("waits_for").AsString().c_str());
    } else if (!wrote && !answer.body.Get("started").AsBool()) {
      std::printf("== it was never started; duecourse why says why\n");
    } else if (!wrote && answer.body.Get("running").AsBool()) {
      std::printf("== it is still running; its output is kept when it ends\n");
    } else if (!wrote && answer.body.Get("kept").AsBool()) {
      std::printf("== it wrote nothing\n");
    } else if (!wrote && !output_lost) {
      std::printf("== no output of it is kept: it wrote nothing, or the time of output.keep is over\n");
    }
    if (answer.body.Get("closed_after_exit").AsBool())
      std::printf("== closed after exit: what the command left running still held its output\n");
  }
  return kExitFine;
}

}  // namespace duecourse

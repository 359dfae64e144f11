// The test program's main: besides the tests it is the helper program of commands that need one, and a daemon
// that can be killed.
//   exec_test executor DATA STORE_ID RUN SHELL_TEXT   starts one attempt, says "pid N" and "ended", and stays
//   until its end
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "exec/helper.h"
#include "exec/test_harness.h"

namespace duecourse {
namespace {

void Say(const std::string& line) {
  const std::string whole = line + "\n";
  [[maybe_unused]] ssize_t n = ::write(1, whole.data(), whole.size());
}

int ExecutorMain(char** argv) {
  SystemClock clock;
  Log log(clock, 2, LogLevel::kWarning);
  ExecOptions options;
  options.data_folder = argv[2];
  options.store_id = argv[3];
  ExecSink sink;
  sink.started = [](AttemptRef, std::string process) { Say(process); };
  sink.ended = [](AttemptRef, Ending ending) { Say(StrCat("ended ", ending.code, " ", ending.summary)); };
  std::unique_ptr<Executor> executor = NewExecutor(options, clock, log, sink);
  executor->Start(Shell(argv[4], argv[5]));
  // Until whoever started us closes our standard input, or kills us.
  char byte = 0;
  while (::read(0, &byte, 1) > 0) {
  }
  return 0;
}

}  // namespace
}  // namespace duecourse

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == duecourse::kHelperVerb)
    return duecourse::ExecHelperMain(argc, argv);
  if (argc == 6 && std::string_view(argv[1]) == "executor") return duecourse::ExecutorMain(argv);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}

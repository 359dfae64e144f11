// Every reason of the closed list is given in some drill, but for those named here: what they need is no part
// of a drill's world, and other tests reach them.
#include <gtest/gtest.h>

#include <set>

#include "base/file.h"
#include "sim/drill.h"

namespace duecourse {
namespace {

TEST(Reasons, AreAllGivenInSomeDrill) {
  const std::set<std::string> elsewhere = {
      "lock_occupied",           // engine_test, agreement_test: a question about a run that runs
      "previous_attempt_alive",  // engine_test: processes that would not die
      "stuck",                   // engine_test: the same, for too long
      "key_error",               // engine_test: the checks refuse such rules before they are loaded
      "out_of_window",           // agreement_test: what is due before its window opens is not_due until then
      "budget_exhausted",        // decide_test: no rule can ask for it yet
      "rate_limited",            // decide_test: the same
      "clock_skew",              // decide_test: one node has no other clock to differ from
      "store_gap",               // reason_test: said by a recovery that does not exist yet
      "internal_invariant",      // the store's contract
  };
  std::string all;
  Result<std::vector<std::string>> files =
      ListFiles(std::string(DUECOURSE_SOURCE_DIR) + "/drills", {".yaml"});
  ASSERT_TRUE(files.ok());
  for (const std::string& file : *files) {
    Result<Drill> drill = ReadDrill(file);
    ASSERT_TRUE(drill.ok()) << drill.error().message();
    for (const std::string& line : RunDrill(*drill, {}).log) all += line + "\n";
  }
  for (int i = 0; i < kReasonCount; ++i) {
    std::string name = ReasonName(static_cast<Reason>(i));
    bool given = all.find("\"reason\":\"" + name + "\"") != std::string::npos ||
                 all.find(" answer " + name) != std::string::npos;
    EXPECT_EQ(given, elsewhere.count(name) == 0) << name;
  }
}

}  // namespace
}  // namespace duecourse

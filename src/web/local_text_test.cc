#include "web/local_text.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

TEST(LocalInstants, AreThoseThatStandAloneAndNoneInsideANameAKeyOrAFile) {
  const Zone tokyo = Zone::Load("Asia/Tokyo").value();
  const std::pair<const char*, const char*> kRows[] = {
      {"2026-11-30T22:56:20Z", "2026-12-01T07:56:20+09:00"},
      {"down from 2026-11-30T22:56:20Z to 2026-11-30T23:00:00.5Z",
       "down from 2026-12-01T07:56:20+09:00 to "
       "2026-12-01T08:00:00.500+09:00"},
      {"it (2026-11-30T22:56:20Z), 2026-11-30T22:56:20Z: so",
       "it (2026-12-01T07:56:20+09:00), "
       "2026-12-01T07:56:20+09:00: so"},
      {"a at 2026-11-30T22:56:20Z.", "a at 2026-12-01T07:56:20+09:00."},
  };
  for (const auto& [text, local] : kRows) EXPECT_EQ(LocalInstants(text, tokyo), local);
  // Whatever a name is glued with, it is the name that the store, the disk and other verbs know.
  for (const char* name : {"in/x_2026-11-30T22:56:20Z.csv", "loc:2026-11-30T22:56:20Z",
                           "x-2026-11-30T22:56:20Z", "x/2026-11-30T22:56:20Z", "x.2026-11-30T22:56:20Z",
                           "2026-11-30T22:56:20Z:loc", "2026-11-30T22:56:20Z.csv", "2026-11-30T22:56:20Z_x",
                           "2026-11-30T22:56:20Z#m1", "\"2026-11-30T22:56:20Z\"", "x(2026-11-30T22:56:20Z)",
                           "12026-11-30T22:56:20Z", "2026-11-30T22:56:20Za", "2026-13-40T22:56:20Z"}) {
    const std::string sentence = std::string("pool p is full: held by ") + name + " is running";
    EXPECT_EQ(LocalInstants(sentence, tokyo), sentence);
    EXPECT_EQ(LocalInstants(sentence, Zone::Utc()), sentence);
    EXPECT_EQ(LocalInstants(name, tokyo), name);
  }
}

}  // namespace
}  // namespace duecourse

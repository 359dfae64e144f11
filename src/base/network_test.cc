#include "base/network.h"

#include <gtest/gtest.h>

namespace duecourse {
namespace {

TEST(Network, WhatMayBeListedIsTakenAndWhatCannotBeMeantIsRefused) {
  for (const char* good :
       {"loopback", "Private", " public ", "any", "10.2.0.0/16", "192.168.7.9", "[::1]", "::1", "fd00::/8",
        "agent", "Agent.Internal", "*.internal", "a_b-c.example.", "10.2.0.0/0"}) {
    EXPECT_EQ(AllowEntryFault(good), "") << good;
  }
  for (const char* bad :
       {"", " ", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/-1", "http://x", "a b", "[::1", "x/24", "*.", "*",
        "a.*.b", ".internal", "10.2.0", "10.0.0.256", "1", "h:80", "fd00::/129"}) {
    std::string fault = AllowEntryFault(bad);
    EXPECT_NE(fault.find("write loopback, private, public"), std::string::npos) << bad;
    EXPECT_EQ(fault.find(std::string("\"") + bad + "\""), 0u) << fault;
  }
}

TEST(Network, ANetworkIsItsBytesAndItsLength) {
  std::optional<IpNetwork> v4 = ParseIpNetwork("10.2.0.0/16");
  ASSERT_TRUE(v4.has_value());
  EXPECT_EQ(v4->bits, 112);
  EXPECT_EQ(v4->bytes[12], 10);
  EXPECT_EQ(ParseIpNetwork("::ffff:10.2.0.0")->bytes, v4->bytes);
  EXPECT_EQ(ParseIpNetwork("64:ff9b::10.2.0.0")->bytes, v4->bytes);
  EXPECT_EQ(ParseIpNetwork("::1")->bytes[15], 1);
}

}  // namespace
}  // namespace duecourse

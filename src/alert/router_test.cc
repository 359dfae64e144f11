// Whom an alert reaches.
#include <gtest/gtest.h>

#include "alert/alert.h"
#include "base/text.h"

namespace duecourse {
namespace {

using Level = AlertLevel;

ServerConfig Config() {
  ServerConfig config;
  for (const char* name : {"ding", "phone", "mail", "log"}) {
    ChannelConfig channel;
    channel.name = name;
    config.channels.push_back(channel);
  }
  const auto owner = [&](const char* name, std::vector<std::pair<Level, std::vector<std::string>>> channels) {
    OwnerConfig one;
    one.name = name;
    one.channels = std::move(channels);
    config.owners.emplace_back(name, one);
  };
  owner("data", {{Level::kP2, {"ding"}}, {Level::kP1, {"phone", "ding"}}});
  owner("low", {{Level::kP3, {"log"}}});
  owner("high", {{Level::kP1, {"phone"}}});
  owner("broken", {{Level::kP2, {"gone"}}, {Level::kP1, {"phone", "ding"}}});
  return config;
}

std::string Names(const std::vector<ChannelConfig>& channels) {
  std::vector<std::string> names;
  for (const ChannelConfig& channel : channels) names.push_back(channel.name);
  return Join(names, ",");
}

TEST(AlertRouterTest, AnOwnersChannelsAreThoseOfTheLevelElseTheNearestHigherElseLower) {
  const ServerConfig config = Config();
  struct Row {
    const char* owner;
    Level level;
    const char* channels;
  };
  const Row rows[] = {
      {"data", Level::kP1, "phone,ding"},   {"data", Level::kP2, "ding"}, {"data", Level::kP3, "ding"},
      {"low", Level::kP1, "log"},           {"low", Level::kP2, "log"},   {"high", Level::kP2, "phone"},
      {"broken", Level::kP2, "phone,ding"}, {"nobody", Level::kP1, ""},   {"", Level::kP1, ""}};
  for (const Row& row : rows)
    EXPECT_EQ(Names(ChannelsFor(config, row.owner, row.level)), row.channels) << row.owner;
}

TEST(AlertRouterTest, TasksWithoutAnOwnerBelongToTheDefaultOwner) {
  ServerConfig config = Config();
  OwnerConfig one;
  one.name = kDefaultOwner;
  one.channels = {{Level::kP2, {"mail"}}};
  config.owners.emplace_back(kDefaultOwner, one);
  EXPECT_EQ(Names(ChannelsFor(config, "", Level::kP2)), "mail");
  EXPECT_EQ(Names(ChannelsFor(config, "misspelt", Level::kP2)), "mail");
  EXPECT_EQ(Names(ChannelsFor(config, "data", Level::kP2)), "ding");
}

TEST(AlertRouterTest, ANoticeReachesEveryOwnerOnce) {
  ServerConfig config = Config();
  std::vector<std::string> lists;
  for (const auto& channels : ChannelsForAll(config, Level::kP1)) lists.push_back(Names(channels));
  EXPECT_EQ(lists, (std::vector<std::string>{"phone,ding", "log", "phone"}));
  config.owners.clear();
  ASSERT_EQ(ChannelsForAll(config, Level::kP1).size(), 1u);
  EXPECT_EQ(Names(ChannelsForAll(config, Level::kP1)[0]), "ding,phone,mail,log");
  config.channels.clear();
  EXPECT_TRUE(ChannelsForAll(config, Level::kP1).empty());
}

}  // namespace
}  // namespace duecourse

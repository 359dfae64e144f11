#include <algorithm>
#include <array>

#include "alert/alert.h"

namespace duecourse {
namespace {

const OwnerConfig* FindOwner(const ServerConfig& config, const std::string& name) {
  for (const auto& [owner, settings] : config.owners) {
    if (owner == name) return &settings;
  }
  return nullptr;
}

std::vector<std::string> NamesAt(const OwnerConfig& owner, AlertLevel level) {
  for (const auto& [written, names] : owner.channels) {
    if (written == level) return names;
  }
  return {};
}

// The level itself, then the higher ones from the nearest on, then the lower ones.
std::vector<AlertLevel> Order(AlertLevel level) {
  constexpr std::array<AlertLevel, 3> kRising = {AlertLevel::kP3, AlertLevel::kP2, AlertLevel::kP1};
  std::vector<AlertLevel> order;
  for (AlertLevel one : kRising) {
    if (one >= level) order.push_back(one);
  }
  for (auto one = kRising.rbegin(); one != kRising.rend(); ++one) {
    if (*one < level) order.push_back(*one);
  }
  return order;
}

std::vector<ChannelConfig> ChannelsOf(const ServerConfig& config, const OwnerConfig& owner,
                                      AlertLevel level) {
  for (AlertLevel one : Order(level)) {
    std::vector<ChannelConfig> found;
    for (const std::string& name : NamesAt(owner, one)) {
      auto channel = std::find_if(config.channels.begin(), config.channels.end(),
                                  [&](const ChannelConfig& c) { return c.name == name; });
      if (channel != config.channels.end()) found.push_back(*channel);
    }
    if (!found.empty()) return found;
  }
  return {};
}

bool SameChannels(const std::vector<ChannelConfig>& a, const std::vector<ChannelConfig>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ChannelConfig& x, const ChannelConfig& y) { return x.name == y.name; });
}

}  // namespace

std::vector<ChannelConfig> ChannelsFor(const ServerConfig& config, const std::string& owner,
                                       AlertLevel level) {
  const OwnerConfig* found = owner.empty() ? nullptr : FindOwner(config, owner);
  if (found == nullptr) found = FindOwner(config, kDefaultOwner);
  if (found == nullptr) return {};
  return ChannelsOf(config, *found, level);
}

std::vector<std::vector<ChannelConfig>> ChannelsForAll(const ServerConfig& config, AlertLevel level) {
  std::vector<std::vector<ChannelConfig>> all;
  for (const auto& [name, owner] : config.owners) {
    std::vector<ChannelConfig> channels = ChannelsOf(config, owner, level);
    if (channels.empty()) continue;
    const bool known =
        std::any_of(all.begin(), all.end(), [&](const auto& one) { return SameChannels(one, channels); });
    if (!known) all.push_back(std::move(channels));
  }
  if (all.empty() && !config.channels.empty()) all.push_back(config.channels);
  return all;
}

}  // namespace duecourse

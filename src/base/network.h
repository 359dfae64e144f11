// Texts that name hosts, addresses and networks, as the settings write them. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace duecourse {

using IpBytes = std::array<uint8_t, 16>;  // IPv4 as ::ffff:a.b.c.d

struct IpNetwork {
  IpBytes bytes{};
  int bits = 0;  // 96 more than written for IPv4
};

// IPv4 in any of its IPv6 dresses (mapped, NAT64, 6to4, compatible) in the mapped form; others as they are.
IpBytes PlainAddress(const IpBytes& address);
IpBytes MappedAddress(const uint8_t* v4);
// "10.2.0.0/16", "fe80::1", "[::1]"; without a length the one address. Nothing where it is neither.
std::optional<IpNetwork> ParseIpNetwork(std::string_view text);
// What is wrong with an entry of `http_allow`, with what may stand there; empty where nothing is. Entries:
// "loopback", "private", "public", "any", an address, a network, a host name, "*.example.org". Case and blanks
// around it do not count.
std::string AllowEntryFault(std::string_view entry);

}  // namespace duecourse

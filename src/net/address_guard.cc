#include "net/address_guard.h"

#include <arpa/inet.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace duecourse {
namespace {

using Bytes = IpBytes;

bool SamePrefix(const Bytes& a, const Bytes& b, int bits) {
  for (int bit = 0; bit < bits; bit += 8) {
    const size_t i = static_cast<size_t>(bit) / 8;
    const int rest = std::min(8, bits - bit);
    const auto mask = static_cast<uint8_t>(0xFF << (8 - rest));
    if ((a[i] & mask) != (b[i] & mask)) return false;
  }
  return true;
}

std::optional<Bytes> BytesOf(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    std::array<uint8_t, 4> bytes{};
    std::memcpy(bytes.data(), &v4.sin_addr, bytes.size());
    return MappedAddress(bytes.data());
  }
  if (address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    Bytes bytes{};
    std::memcpy(bytes.data(), &v6.sin6_addr, bytes.size());
    return PlainAddress(bytes);
  }
  return std::nullopt;
}

// Whether it is an IPv4 address that somebody else translates to (NAT64, 6to4, ::a.b.c.d), so that its loopback
// is not ours.
bool IsTranslated(const sockaddr* address, const Bytes& plain) {
  if (address->sa_family != AF_INET6) return false;
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  return std::memcmp(&v6.sin6_addr, plain.data(), plain.size()) != 0;
}

// What is no public address, from the registries of special-purpose addresses (RFC 6890 and its successors).
constexpr std::array<const char*, 23> kReserved = {
    "0.0.0.0/8",     "10.0.0.0/8",      "100.64.0.0/10",  "127.0.0.0/8",    "169.254.0.0/16",
    "172.16.0.0/12", "192.0.0.0/24",    "192.0.2.0/24",   "192.88.99.0/24", "192.168.0.0/16",
    "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4",    "240.0.0.0/4",
    "::/128",        "::1/128",         "64:ff9b:1::/48", "100::/64",       "2001:db8::/32",
    "fc00::/7",      "fe80::/10",       "ff00::/8"};
constexpr std::array<const char*, 2> kLoopback = {"127.0.0.0/8", "::1/128"};
constexpr std::array<const char*, 5> kPrivate = {"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16",
                                                 "100.64.0.0/10", "fc00::/7"};

IpNetwork Known(const char* text) {
  std::optional<IpNetwork> network = ParseIpNetwork(text);
  CHECK(network.has_value());
  return *network;
}

}  // namespace

Result<AddressGuard> AddressGuard::Parse(const std::vector<std::string>& entries) {
  AddressGuard guard;
  std::vector<std::string> all = entries;
  if (all.empty()) all.emplace_back("loopback");
  for (const std::string& written : all) {
    std::string fault = AllowEntryFault(written);
    if (!fault.empty()) return Error(StrCat("http_allow: ", fault));
    const std::string entry = AsciiLower(Trim(written));
    if (entry == "any") {
      guard.any_ = true;
    } else if (entry == "loopback") {
      for (const char* text : kLoopback) guard.networks_.push_back(Known(text));
    } else if (entry == "private") {
      for (const char* text : kPrivate) guard.networks_.push_back(Known(text));
    } else if (entry == "public") {
      continue;  // they are allowed anyway; the word makes the list one without loopback
    } else if (std::optional<IpNetwork> network = ParseIpNetwork(entry)) {
      guard.networks_.push_back(*network);
    } else {
      guard.hosts_.push_back(entry.starts_with("*.") ? entry.substr(1) : entry);
    }
  }
  return guard;
}

bool AddressGuard::Allows(std::string_view host, const sockaddr* address) const {
  const std::optional<Bytes> bytes = BytesOf(address);
  if (!bytes.has_value()) return false;
  if (any_) return true;
  const std::string name = AsciiLower(host);
  for (const std::string& allowed : hosts_) {
    if (name == allowed || (allowed.starts_with('.') && name.ends_with(allowed))) return true;
  }
  if (IsTranslated(address, *bytes) && SamePrefix(*bytes, Known(kLoopback[0]).bytes, Known(kLoopback[0]).bits))
    return false;
  const auto contains = [&](const IpNetwork& n) { return SamePrefix(*bytes, n.bytes, n.bits); };
  if (std::any_of(networks_.begin(), networks_.end(), contains)) return true;
  return std::none_of(kReserved.begin(), kReserved.end(),
                      [&](const char* text) { return contains(Known(text)); });
}

std::string AddressText(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    ::inet_ntop(AF_INET, &v4.sin_addr, text.data(), text.size());
    return text.data();
  }
  if (address != nullptr && address->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, address, sizeof v6);
    ::inet_ntop(AF_INET6, &v6.sin6_addr, text.data(), text.size());
    return StrCat("[", text.data(), "]");
  }
  return "no IP address";
}

std::string HostOfUrl(std::string_view url) {
  const size_t scheme = url.find("://");
  if (scheme == std::string_view::npos) return "";
  url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#\\"));
  if (const size_t user = url.rfind('@'); user != std::string_view::npos) url.remove_prefix(user + 1);
  if (url.starts_with('[')) return AsciiLower(url.substr(1, url.find(']') - 1));
  return AsciiLower(url.substr(0, url.find(':')));
}

bool AnyBytesReceived(const std::vector<Fd>& sockets) {
  return std::any_of(sockets.begin(), sockets.end(), [](const Fd& fd) {
    tcp_info info{};
    socklen_t size = sizeof info;
    if (!fd.valid() || ::getsockopt(fd.get(), IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return false;
    // Kernels before 4.1 fill in less.
    if (size < offsetof(tcp_info, tcpi_bytes_received) + sizeof info.tcpi_bytes_received) return false;
    return info.tcpi_bytes_received > 0;
  });
}

}  // namespace duecourse

#include "base/network.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr size_t kV4At = 12;  // where the IPv4 stands in a mapped address

bool SameStart(const IpBytes& address, const IpBytes& prefix, size_t bytes) {
  return std::equal(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(bytes), address.begin());
}

bool IsHostName(std::string_view text) {
  if (text.empty() || text.size() > 253) return false;
  bool clean = std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_';
  });
  // No name ends in a number: 10.2.0 and 10.0.0.256 are addresses with a slip in them.
  std::string_view last = text.substr(text.rfind('.') + 1);
  bool number = std::all_of(last.begin(), last.end(), [](char c) { return c >= '0' && c <= '9'; });
  return clean && text.front() != '.' && (last.empty() || !number);
}

}  // namespace

IpBytes MappedAddress(const uint8_t* v4) {
  IpBytes out{};
  out[10] = 0xFF;
  out[11] = 0xFF;
  std::copy(v4, v4 + 4, out.begin() + kV4At);
  return out;
}

IpBytes PlainAddress(const IpBytes& address) {
  static constexpr IpBytes kNat64 = {0x00, 0x64, 0xFF, 0x9B};
  static constexpr IpBytes kSixToFour = {0x20, 0x02};
  static constexpr IpBytes kCompatible = {};
  if (SameStart(address, kNat64, 12)) return MappedAddress(address.data() + kV4At);
  if (SameStart(address, kSixToFour, 2)) return MappedAddress(address.data() + 2);
  // ::a.b.c.d, but not :: and ::1, which are addresses of their own.
  const bool small = address[12] == 0 && address[13] == 0 && address[14] == 0 && address[15] <= 1;
  if (SameStart(address, kCompatible, 12) && !small) return MappedAddress(address.data() + kV4At);
  return address;
}

std::optional<IpNetwork> ParseIpNetwork(std::string_view text) {
  const size_t slash = text.find('/');
  std::string address(text.substr(0, slash));
  if (address.starts_with('[') && address.ends_with(']')) address = address.substr(1, address.size() - 2);
  IpNetwork out;
  std::array<uint8_t, 4> v4{};
  int longest = 128;
  int offset = 0;
  if (::inet_pton(AF_INET, address.c_str(), v4.data()) == 1) {
    out.bytes = MappedAddress(v4.data());
    longest = 32;
    offset = 96;
  } else if (::inet_pton(AF_INET6, address.c_str(), out.bytes.data()) != 1) {
    return std::nullopt;
  }
  int64_t bits = longest;
  if (slash != std::string_view::npos) {
    std::optional<int64_t> written = ParseInteger(text.substr(slash + 1));
    if (!written.has_value() || *written < 0 || *written > longest) return std::nullopt;
    bits = *written;
  }
  out.bits = static_cast<int>(bits) + offset;
  // A single address that holds an IPv4 is judged as such, so it is kept as such.
  if (out.bits == 128) out.bytes = PlainAddress(out.bytes);
  return out;
}

std::string AllowEntryFault(std::string_view written) {
  const std::string entry = AsciiLower(Trim(written));
  for (const char* word : {"loopback", "private", "public", "any"}) {
    if (entry == word) return "";
  }
  if (ParseIpNetwork(entry)) return "";
  bool below = entry.starts_with("*.");
  if (IsHostName(std::string_view(entry).substr(below ? 2 : 0))) return "";
  return StrCat("\"", ShowBytes(written, false),
                "\" is no host name, address or network; write loopback, private, public, any, "
                "192.168.7.0/24, agent.internal or *.internal");
}

}  // namespace duecourse

// Which addresses our own HTTP calls may reach. A rule names URLs, and names
// resolve to whatever their owner says, so the address itself is looked at, at
// the moment the socket is made: public addresses are fine, loopback, private,
// link-local, multicast and reserved ones only where the settings list them
// (`http_allow`). IPv4 inside IPv6 (mapped, NAT64, 6to4) is judged as the IPv4
// it is; but the loopback at the far end of a translation is not ours and no loopback. Immutable after construction; any thread.
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/network.h"
#include "base/result.h"

namespace duecourse {

class AddressGuard {
 public:
  // Entries: "loopback", "private" (10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7), "any", an address, a
  // network (192.168.7.0/24), a host name, or "*.example.org" for the names below one. An empty list is
  // {"loopback"}; to allow public addresses only, write {"public"}. Errors name the entry and what may stand
  // there.
  static Result<AddressGuard> Parse(const std::vector<std::string>& entries);

  // Whether a call to this host (as the URL writes it) may connect to this address. Unix sockets are no
  // address: false.
  bool Allows(std::string_view host, const sockaddr* address) const;

 private:
  std::vector<IpNetwork> networks_;
  std::vector<std::string> hosts_;  // lower case; ".example.org" for names below
  bool any_ = false;
};

// "10.0.0.1", "[fe80::1]"; for messages.
std::string AddressText(const sockaddr* address);
// The host of an http(s) URL, lower case, without brackets, port and user; empty where there is none.
std::string HostOfUrl(std::string_view url);
// Whether the other side of any of these TCP sockets has sent something; false where the kernel does not say.
bool AnyBytesReceived(const std::vector<Fd>& sockets);

}  // namespace duecourse

#include "net/address_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cstring>

namespace duecourse {
namespace {

bool Allows(const std::vector<std::string>& entries, const std::string& host, const std::string& address) {
  Result<AddressGuard> guard = AddressGuard::Parse(entries);
  CHECK(guard.ok());
  sockaddr_storage storage{};
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    std::memcpy(&storage, &v4, sizeof v4);
  } else {
    CHECK(::inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) == 1);
    v6.sin6_family = AF_INET6;
    std::memcpy(&storage, &v6, sizeof v6);
  }
  return guard->Allows(host, reinterpret_cast<const sockaddr*>(&storage));
}

TEST(AddressGuardTest, OnlyPublicAddressesAndWhatIsListedMayBeCalled) {
  struct Row {
    std::vector<std::string> entries;
    const char* address;
    bool allowed;
  };
  const Row rows[] = {
      // By default: loopback, and what is public.
      {{}, "127.0.0.1", true},
      {{}, "127.9.9.9", true},
      {{}, "::1", true},
      {{}, "::ffff:127.0.0.1", true},
      {{}, "8.8.8.8", true},
      {{}, "2606:4700::1111", true},
      {{}, "10.0.0.1", false},
      {{}, "172.16.0.1", false},
      {{}, "172.32.0.1", true},
      {{}, "192.168.1.1", false},
      {{}, "100.64.0.1", false},
      {{}, "169.254.169.254", false},
      {{}, "::ffff:169.254.169.254", false},
      {{}, "64:ff9b::a9fe:a9fe", false},
      {{}, "64:ff9b::808:808", true},
      {{}, "2002:a9fe:a9fe::1", false},
      {{}, "::10.0.0.1", false},
      {{}, "64:ff9b::7f00:1", false},  // the loopback of whoever translates
      {{}, "2002:7f00:1::", false},
      {{}, "::127.0.0.1", false},
      {{"127.0.0.0/8"}, "64:ff9b::7f00:1", false},
      {{"private"}, "64:ff9b::a00:1", true},
      {{"private"}, "2002:c0a8:101::1", true},
      {{}, "2002:808:808::1", true},
      {{}, "::8.8.8.8", true},
      {{}, "0.0.0.0", false},
      {{}, "::", false},
      {{}, "224.0.0.1", false},
      {{}, "255.255.255.255", false},
      {{}, "fe80::1", false},
      {{}, "fd00::1", false},
      {{}, "ff02::1", false},
      // A written list replaces the default.
      {{"public"}, "127.0.0.1", false},
      {{"public"}, "64:ff9b::7f00:1", false},
      {{"public"}, "8.8.8.8", true},
      {{"private"}, "10.9.8.7", true},
      {{"private"}, "fd00::1", true},
      {{"private"}, "169.254.169.254", false},
      {{"private"}, "127.0.0.1", false},
      {{"192.168.7.0/24"}, "192.168.7.200", true},
      {{"192.168.7.0/24"}, "192.168.8.1", false},
      {{"192.168.7.0/24"}, "::ffff:192.168.7.1", true},
      {{"10.1.2.3"}, "10.1.2.3", true},
      {{"10.1.2.3"}, "10.1.2.4", false},
      {{"fd00:1::/32"}, "fd00:1::5", true},
      {{"[fd00::7]"}, "fd00::7", true},
      {{"0.0.0.0/0"}, "10.0.0.1", true},
      {{"0.0.0.0/0"}, "fd00::1", false},
      {{"any"}, "169.254.169.254", true},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(Allows(row.entries, "host.example", row.address), row.allowed)
        << row.address << " with " << (row.entries.empty() ? "nothing" : row.entries[0]);
  }
}

TEST(AddressGuardTest, AListedNameMayResolveToAnything) {
  EXPECT_TRUE(Allows({"agent.internal"}, "Agent.Internal", "10.0.0.1"));
  EXPECT_FALSE(Allows({"agent.internal"}, "other.internal", "10.0.0.1"));
  EXPECT_TRUE(Allows({"*.internal"}, "a.b.internal", "10.0.0.1"));
  EXPECT_FALSE(Allows({"*.internal"}, "internal", "10.0.0.1"));
  EXPECT_FALSE(Allows({"*.internal"}, "evilinternal", "10.0.0.1"));
}

TEST(AddressGuardTest, WhatCannotBeMeantIsRefused) {
  for (const char* entry : {"10.0.0.0/33", "10.0.0.0/", "http://x", "a b", "", "[::1", "x/24", "*."}) {
    Result<AddressGuard> guard = AddressGuard::Parse({entry});
    ASSERT_FALSE(guard.ok()) << entry;
    EXPECT_NE(guard.error().message().find("http_allow"), std::string::npos);
  }
}

TEST(AddressGuardTest, TheHostOfAUrlIsFound) {
  struct Row {
    const char* url;
    const char* host;
  };
  const Row rows[] = {{"http://Example.org/x", "example.org"},
                      {"https://a:8080", "a"},
                      {"http://user:pw@b:1/x@y", "b"},
                      {"http://[::1]:80/", "::1"},
                      {"http://c?x=//d", "c"},
                      {"nonsense", ""}};
  for (const Row& row : rows) EXPECT_EQ(HostOfUrl(row.url), row.host);
}

}  // namespace
}  // namespace duecourse

#include "base/secret.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "base/log.h"
#include "base/random.h"

namespace duecourse {
namespace {

TEST(SecretTest, ASecretIsReadWhereItIsNamedAndKnownToRedact) {
  const std::string folder = testing::TempDir() + "/secret_test_" + SecureToken(6);
  ASSERT_TRUE(MakeFolders(folder, 0700).ok());
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder, "token"), "canary-in-a-file\r\n", false).ok());
  ASSERT_EQ(::setenv("SECRET_TEST_TOKEN", "canary-in-env", 1), 0);
  EXPECT_EQ(*ReadSecret("SECRET_TEST_TOKEN", "", folder), "canary-in-env");
  EXPECT_EQ(*ReadSecret("", "token", folder), "canary-in-a-file");
  EXPECT_EQ(*ReadSecret("", JoinPath(folder, "token"), "/elsewhere"), "canary-in-a-file");
  EXPECT_EQ(Redact("a canary-in-env b canary-in-a-file"), "a *** b ***");
  // A rotated one is taken up at the next reading.
  ASSERT_TRUE(WriteFileAtomic(JoinPath(folder, "token"), "canary-second", false).ok());
  EXPECT_EQ(*ReadSecret("", "token", folder), "canary-second");
  std::filesystem::remove_all(folder);
}

TEST(SecretTest, WhatIsMissingOrEmptyIsNamed) {
  ASSERT_EQ(::setenv("SECRET_TEST_EMPTY", "", 1), 0);
  EXPECT_EQ(ReadSecret("SECRET_TEST_UNSET", "", "/").error().message(),
            "secret {env: SECRET_TEST_UNSET}: the variable is not set where the daemon was started");
  EXPECT_EQ(ReadSecret("SECRET_TEST_EMPTY", "", "/").error().message(), "secret SECRET_TEST_EMPTY is empty");
  EXPECT_NE(ReadSecret("", "none", "/no/folder").error().message().find("/no/folder/none"),
            std::string::npos);
}

}  // namespace
}  // namespace duecourse

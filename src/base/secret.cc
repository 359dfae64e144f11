#include "base/secret.h"

#include <cstdlib>

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"

namespace duecourse {
namespace {

Result<std::string> FromEnvironment(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr) {
    return Error(StrCat("secret {env: ", ShowBytes(name, false),
                        "}: the variable is not set where the daemon was started"));
  }
  return std::string(value);
}

Result<std::string> FromFile(const std::string& path) {
  Result<std::string> content = ReadFile(path, kSecretMaxBytes);
  if (!content.ok()) return content.error().Wrap("secret {file: …}");
  std::string_view text = *content;
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

Result<std::string> ReadSecret(const std::string& env, const std::string& file, const std::string& folder) {
  const bool from_env = !env.empty();
  const std::string path = from_env ? "" : JoinPath(folder, file);
  Result<std::string> value = from_env ? FromEnvironment(env) : FromFile(path);
  if (!value.ok()) return value;
  const std::string name = StrCat("secret ", from_env ? ShowBytes(env, false) : ShowBytes(path, false));
  if (value->empty()) return Error(StrCat(name, " is empty"));
  RegisterSecret(*value);
  return value;
}

}  // namespace duecourse

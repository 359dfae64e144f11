// Secrets stand in a rule by reference only ({env: NAME} or {file: PATH}). These
// find the ones that were written down after all, by the name they stand under
// or by their own shape. Nothing here ever returns or stores the secret. Pure.
#pragma once

#include <string>
#include <string_view>

namespace duecourse {

// "password", "API_TOKEN", "x-api-key", "clientSecret", "Authorization"; not "MAX_TOKENS", "TOKEN_FILE",
// "business_key".
bool NamesSecret(std::string_view name);
// A URL with a password in it, a well-known form of token or private key, "--password=…", "Authorization:
// Bearer …". Values that are variables ({name}, $NAME) are none.
bool HoldsSecret(std::string_view text);
// "--token": the argument after it is a secret.
bool IntroducesSecret(std::string_view argument);
// Stands in the tree where a secret was written, so that no later message can show it.
// (No text that is read can hold this character.)
inline constexpr std::string_view kHiddenValue = "\x01";

// Names of environment variables that a rule may set; the text says what is wrong, empty where it is fine.
std::string EnvironmentNameFault(std::string_view name);

}  // namespace duecourse

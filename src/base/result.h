// Result<T> and Status carry the world's failures (a file that is not there, a
// store that does not answer). An answer we did not like is a value of the
// domain, not an error; our own mistakes are CHECKs. Both are [[nodiscard]]:
// handle it or return it. Error text is for the person on call: what failed,
// on what, and what to do; never a secret.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/check.h"

namespace duecourse {

class [[nodiscard]] Error {
 public:
  // `os_error`: the errno behind it, for whoever decides by it; texts are for people.
  explicit Error(std::string message, int os_error = 0) : message_(std::move(message)), os_error_(os_error) {}
  const std::string& message() const { return message_; }
  int os_error() const { return os_error_; }
  // "context: message", as the error rises.
  Error Wrap(const std::string& context) const { return Error(context + ": " + message_, os_error_); }

 private:
  std::string message_;
  int os_error_;
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    CHECK(error_.has_value());
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return value_.has_value(); }
  const T& value() const& {
    CHECK(value_.has_value());
    return *value_;
  }
  T& value() & {
    CHECK(value_.has_value());
    return *value_;
  }
  T&& value() && {
    CHECK(value_.has_value());
    return *std::move(value_);
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }
  const Error& error() const {
    CHECK(error_.has_value());
    return *error_;
  }
  Status status() const { return ok() ? Status() : Status(error()); }

 private:
  std::optional<T> value_;
  std::optional<Error> error_;
};

}  // namespace duecourse

// One call as the HTTP library works on it. Internal to the client (http_client.cc); the client's thread.
#pragma once

#include <curl/curl.h>

#include <array>
#include <string>
#include <vector>

#include "base/file.h"
#include "net/http_client.h"
#include "net/http_intake.h"

namespace duecourse {

// It stays where it is while it runs: the library keeps its address.
struct Transfer {
  uint64_t id = 0;
  HttpClientCall call;
  HttpClient::Done done;
  HttpResult result;
  HttpIntake intake{0, 0};
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_text{};
  const AddressGuard* guard = nullptr;
  std::string forbidden;    // the last address that the guard refused
  bool resolving = false;   // a name was asked for, and no socket has been opened since
  std::vector<Fd> sockets;  // second descriptors of those it opened, to see afterwards what came in
  int64_t started_us = 0;

  ~Transfer() {
    if (easy != nullptr) curl_easy_cleanup(easy);
    curl_slist_free_all(headers);
  }
};

// Makes the library's handle of a call that is well-formed.
void Prepare(Transfer& transfer, const std::string& user_agent);
// Fills in what the library knows about a call that ended.
void Conclude(Transfer& transfer, CURLcode code);
// Answers one that the library never saw.
void EndUntried(Transfer& transfer, HttpError error, std::string message);

}  // namespace duecourse

// The HTTP API: one handler for the Unix socket and for TCP. Reads go to
// worker threads with store readers of their own; acts go to the engine and are
// answered when they are durable. docs/reference/api.md lists the paths; a test
// holds the page to what is routed.
//
// Status: 200 fine, 400 usage, 404 nothing of that name, 409 refused by a decision (reason and run_id in the
// body), 500 and 503 problems. Every body is JSON with "message" where people should read something.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/queue.h"
#include "base/text.h"
#include "net/http_server.h"
#include "web/backend.h"

namespace duecourse {

struct ApiQuery {
  std::string path;                                         // decoded, without the query
  std::vector<std::pair<std::string, std::string>> params;  // decoded
  Json body;                                                // of a POST
  std::string Get(const std::string& name, const std::string& fallback = "") const;
};
// Refuses a malformed escape, NUL, "..", a second parameter of one name, a body that is no JSON object.
Result<ApiQuery> ParseApiQuery(const HttpRequest& request);

class Api {
 public:
  explicit Api(Backend& backend);
  ~Api();
  // Any thread; the handler given to HttpServer.
  void Handle(HttpRequest request, HttpReply reply);

 private:
  struct Job {
    ApiQuery query;
    HttpReply reply;
    bool act = false;  // not a GET path: an act on a run, asked when that was read
  };
  void Work();
  void AskAboutRun(const Job& job, StoreReader* reader);
  void Act(const ApiQuery& query, HttpReply reply);

  Backend& backend_;
  Queue<Job> jobs_;
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> workers_;
};

// ---- parts of this room
HttpResponse JsonResponse(int status, const Json& body);
HttpResponse Problem(int status, const std::string& message);
HttpResponse OfAnswer(const Answer& answer);
// GET paths that need the store. Runs on a worker.
HttpResponse ReadPath(const ApiQuery& query, Backend& backend, StoreReader& reader);
// What is wrong with the body of a POST: a member that is missing, unknown, of another type or too long;
// empty where nothing is.
std::string BodyFault(const ApiQuery& query);
// What is wrong with the parameters of a GET: one that its path does not have; empty where nothing is.
std::string ParameterFault(const ApiQuery& query);
// POST paths as requests for the engine; an error is a usage error.
bool IsActPath(const std::string& path);
struct ApiAct {
  Request request;
  std::string about_run;  // the run it is about, read first: one that is over only the store has
};
Result<ApiAct> ActOf(const ApiQuery& query);
// The act of that query with its run as the store has it; nothing, and `refusal`, where it has none. Without
// a reader (the store does not answer) it is asked as it is, but for what needs the row.
std::optional<Request> ActOnRun(const ApiQuery& query, StoreReader* reader, HttpResponse* refusal);
std::string MetricsText(Backend& backend);
Answer AskAndWait(Backend& backend, Request request);

// A row's reason; one that this program does not know as it is stored.
template <typename Row>
std::string ShownReason(const Row& row) {
  return row.strange_reason.empty() ? ReasonName(row.reason) : ShowBytes(row.strange_reason, false);
}
inline AttemptRef RefOf(const Attempt& attempt) { return {attempt.run_id, attempt.fence, attempt.number}; }
// It ended before any of its work began: no slot in time, or a fault in the rule or the machine.
bool NeverStarted(const Attempt& attempt);
Json RunToJson(const Run& run, const RuleSet& rules);
Json AttemptToJson(const Attempt& attempt, const Run& run, const RuleSet& rules);
Json DecisionToJson(const DecisionRow& row, const RuleSet& rules);
Json NoteToJson(const Note& note);
Json AlertToJson(const AlertRow& row);

// When a value is due next, from what its plan says; one that a person had started before its time is passed.
Instant NextToCome(const Task& task, size_t value, Instant next, StoreReader& reader);
// What happened to a task, what it waits for and why, and what happens next: sentences from rows; nothing is
// recomputed. `date`: business date; without it the newest run and what is open.
HttpResponse Why(const std::string& task, std::optional<CivilDay> date, Backend& backend,
                 StoreReader& reader);

}  // namespace duecourse

// What may stand in the body of a POST.
#include <gtest/gtest.h>

#include "base/text.h"
#include "web/api.h"

namespace duecourse {
namespace {

std::string FaultOf(const std::string& path, const std::string& body) {
  HttpRequest request;
  request.method = "POST";
  request.target = path;
  request.body = body;
  Result<ApiQuery> query = ParseApiQuery(request);
  return query.ok() ? BodyFault(*query) : query.error().message();
}

TEST(ApiBody, AMemberThatIsMissingUnknownOfAnotherTypeOrTooLongIsNamed) {
  struct Row {
    const char* path;
    std::string body;
    const char* fault;  // a part of it; "": fine
  };
  const std::string by = R"({"by": "ann", )";
  auto long_text = [](size_t size) { return StrCat("\"", std::string(size, 'x'), "\"}"); };
  const Row rows[] = {
      {"/api/v1/reload", "", "\"by\" is missing"},
      {"/api/v1/reload", "{}", "\"by\" is missing"},
      {"/api/v1/reload", R"({"by": ""})", "\"by\" is empty"},
      {"/api/v1/reload", R"({"by": 5})", "\"by\" must be a text, not a number"},
      {"/api/v1/reload", by + R"("dry_run": true})", ""},
      {"/api/v1/reload", by + R"("dry_run": "yes"})", "\"dry_run\" must be true or false, not a text"},
      {"/api/v1/reload", by + R"("confirm": 1})", "\"confirm\" must be true or false, not a number"},
      {"/api/v1/reload", by + R"("dryrun": true})",
       "no member \"dryrun\" here; known are by, reason, dry_run, confirm"},
      {"/api/v1/alerts/test", R"({"owner": "desk"})", "\"by\" is missing"},
      {"/api/v1/alerts/test", by + R"("owner": "desk", "level": "P1"})", ""},
      {"/api/v1/trigger", by + R"("task": "a", "extra": "yes"})", "\"extra\" must be true or false"},
      {"/api/v1/trigger", by + R"("task": "a", "force": 1})",
       "\"force\" must be true or false, not a number"},
      {"/api/v1/trigger", by + R"("task": ["a"]})", "\"task\" must be a text, not a list"},
      {"/api/v1/trigger", by + R"("task": null})", "\"task\" must be a text, not null"},
      {"/api/v1/trigger", by + R"("date": "2026-03-02"})", "\"task\" is missing"},
      {"/api/v1/flags", by + R"("name": "f", "value": 5})", "\"value\" must be a text, not a number"},
      {"/api/v1/flags", by + R"("name": "f", "value": )" + long_text(1024), ""},
      {"/api/v1/flags", by + R"("name": "f", "value": )" + long_text(1025),
       "\"value\" has 1025 bytes; at most 1024"},
      {"/api/v1/pause", by + R"("scope": "all", "reason": )" + long_text(4096), ""},
      {"/api/v1/pause", by + R"("scope": "all", "reason": )" + long_text(4097), "\"reason\" has 4097 bytes"},
      {"/api/v1/pause", R"({"scope": "all", "by": )" + long_text(128), ""},
      {"/api/v1/pause", R"({"scope": "all", "by": )" + long_text(129), "\"by\" has 129 bytes; at most 128"},
      {"/api/v1/pause", by + R"("scope": "all", "catch_up": true})", "no member \"catch_up\" here"},
      {"/api/v1/resume", by + R"("scope": "all", "catch_up": true})", ""},
      {"/api/v1/pause", R"({"scope": "all", "by": "x\u001b[31m"})", "\"by\" holds control characters"},
      {"/api/v1/pause", by + R"("scope": "all", "reason": "a\u202eb"})",
       "\"reason\" holds control characters"},
      {"/api/v1/pause", by + R"("scope": "all", "reason": "one\ntwo"})", ""},
      {"/api/v1/flags", by + R"("name": "f", "value": "one\ntwo"})", "\"value\" holds control characters"},
      {"/api/v1/cancel", R"({"by": "ann"})", "\"run_id\" is missing"},
      {"/api/v1/manual/rerun", by + R"("run_id": "r1", "supersede": {}})", "true or false, not an object"},
      {"/api/v1/manual/rerun", by + R"("run_id": "r1", "supersede": true, "reason": "x"})", ""},
      {"/api/v1/manual/rerun", by + R"("run_id": "r1", "force": true, "reason": "x"})", ""},
  };
  for (const Row& row : rows) {
    const std::string fault = FaultOf(row.path, row.body);
    EXPECT_EQ(fault.empty(), *row.fault == '\0')
        << row.path << " " << row.body.substr(0, 80) << ": " << fault;
    EXPECT_NE(fault.find(row.fault), std::string::npos)
        << row.path << " " << row.body.substr(0, 80) << ": " << fault;
  }
}

TEST(ApiBody, MembersThatContradictEachOtherAreNamed) {
  const struct {
    const char* path;
    const char* body;
    const char* fault;  // a part of it; "": fine
  } rows[] = {
      {"/api/v1/trigger", R"("task": "a", "date": "2026-03-02", "at": "2026-03-02T09:00:00Z")",
       "\"date\" and \"at\" each choose the occurrence: give one"},
      {"/api/v1/trigger", R"("task": "a", "extra": true, "at": "2026-03-02T09:00:00Z")",
       "\"extra\" starts a run beside the schedule now"},
      {"/api/v1/trigger", R"("task": "a", "extra": false, "at": "2026-03-02T09:00:00Z")", ""},
      {"/api/v1/trigger", R"("task": "a", "extra": true, "date": "2026-03-02")", ""},
      {"/api/v1/flags", R"("name": "f", "remove": true, "ttl": "2m")",
       "\"ttl\" means nothing with \"remove\""},
      {"/api/v1/flags", R"("name": "f", "remove": true, "value": "x")", "\"value\" means nothing"},
      {"/api/v1/flags", R"("name": "f", "remove": false, "value": "x")", ""},
  };
  for (const auto& row : rows) {
    ApiQuery query;
    query.path = row.path;
    query.body = *Json::Parse(StrCat(R"({"by": "ann", )", row.body, "}"));
    const Result<ApiAct> act = ActOf(query);
    EXPECT_EQ(act.ok(), *row.fault == '\0') << row.body;
    const std::string fault = act.ok() ? "" : act.error().message();
    EXPECT_NE(fault.find(row.fault), std::string::npos) << fault;
  }
}

}  // namespace
}  // namespace duecourse

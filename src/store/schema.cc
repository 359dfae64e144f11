#include "store/schema.h"

namespace duecourse {
namespace {

// 1: everything there is at first.
//
// A run's `seq` is the order of writing and what attempt, decision and slot refer to: small, and it rises, so
// that their indexes grow at the end. `owner` is the incarnation that holds the lease, while running.
// The two unique indexes of run and run_by_due are written once for each run; run_open holds open runs and
// manual_required only, so a start reads what is open and no history (and a state that nobody knows, which
// would be in neither, is refused). decision_by_task serves the reading of one task's days, decision_by_run
// that of one run, decision_loose finds rows without a run for pruning.
constexpr const char* kFirst = R"sql(
CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  store_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_alive INTEGER NOT NULL,
  prune_position INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE node (
  seq INTEGER PRIMARY KEY,
  incarnation TEXT NOT NULL UNIQUE,
  node TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  zone_data TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  closed_at INTEGER
) STRICT;

CREATE TABLE rule_version (
  version INTEGER PRIMARY KEY,
  hash TEXT NOT NULL,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  tasks INTEGER NOT NULL,
  changes TEXT NOT NULL
) STRICT;

CREATE TABLE rule_text (
  hash TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
) STRICT;

CREATE TABLE rule_file (
  version INTEGER NOT NULL,
  name TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (version, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE task (
  task TEXT NOT NULL,
  value TEXT NOT NULL,
  in_force_since INTEGER NOT NULL,
  planned_through INTEGER NOT NULL,
  last_start INTEGER,
  schedule TEXT NOT NULL,
  active INTEGER NOT NULL,
  PRIMARY KEY (task, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE run (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  task TEXT NOT NULL,
  value TEXT NOT NULL,
  identity TEXT NOT NULL,
  due INTEGER NOT NULL,
  business_date INTEGER NOT NULL,
  key TEXT,
  state TEXT NOT NULL CHECK (state = 'scheduled' OR state = 'running' OR state = 'retrying'
                             OR state = 'catchup_waiting' OR state = 'success' OR state = 'manual_required'
                             OR state = 'skipped' OR state = 'missed'),
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  fence INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  counted INTEGER NOT NULL,
  uncounted INTEGER NOT NULL,
  failures INTEGER NOT NULL,
  told TEXT NOT NULL,
  ladder_immediate INTEGER NOT NULL,
  ladder_backoff INTEGER NOT NULL,
  ladder_catchup INTEGER NOT NULL,
  next_at INTEGER,
  next_lost_rerun INTEGER NOT NULL,
  window_opens INTEGER NOT NULL,
  window_ends INTEGER NOT NULL,
  before_manual TEXT NOT NULL,
  before_claim TEXT NOT NULL,
  origin TEXT NOT NULL,
  extra INTEGER NOT NULL,
  owed INTEGER NOT NULL,
  supersedes TEXT NOT NULL,
  superseded_by TEXT NOT NULL,
  cancel TEXT NOT NULL,
  met TEXT NOT NULL,
  rule_version INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  state_since INTEGER NOT NULL,
  first_start INTEGER,
  owner INTEGER,
  lease_until INTEGER NOT NULL,
  UNIQUE (task, value, identity)
) STRICT;
CREATE UNIQUE INDEX run_key ON run (key) WHERE key IS NOT NULL;
CREATE INDEX run_by_due ON run (task, due, business_date);
CREATE INDEX run_open ON run (task, value)
  WHERE )sql" DC_OPEN_STATES R"sql(;

CREATE TABLE attempt (
  run INTEGER NOT NULL,
  number INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  kind TEXT NOT NULL,
  nonce TEXT NOT NULL,
  rule_version INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  ended_at INTEGER,
  outcome TEXT NOT NULL,
  class TEXT NOT NULL,
  code TEXT NOT NULL,
  summary TEXT NOT NULL,
  detail TEXT NOT NULL,
  by TEXT NOT NULL,
  PRIMARY KEY (run, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE slot (
  pool TEXT NOT NULL,
  run INTEGER NOT NULL,
  fence INTEGER NOT NULL,
  PRIMARY KEY (pool, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE pool (
  name TEXT NOT NULL PRIMARY KEY,
  last_start INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
  id INTEGER PRIMARY KEY,
  task TEXT NOT NULL,
  value TEXT NOT NULL,
  reason TEXT NOT NULL,
  state TEXT NOT NULL,
  first_due INTEGER NOT NULL,
  last_due INTEGER NOT NULL,
  count INTEGER NOT NULL,
  run_id TEXT NOT NULL,
  detail TEXT NOT NULL,
  at INTEGER NOT NULL,
  identity TEXT NOT NULL,
  UNIQUE (task, value, first_due, last_due, reason, identity)
) STRICT;

CREATE TABLE decision (
  id INTEGER PRIMARY KEY,
  run INTEGER,
  task TEXT NOT NULL,
  value TEXT,
  key TEXT,
  business_date INTEGER,
  at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  count INTEGER NOT NULL,
  decision TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL,
  from_state TEXT NOT NULL,
  to_state TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  error_code TEXT NOT NULL,
  fence INTEGER NOT NULL,
  rule_version INTEGER NOT NULL,
  owner INTEGER NOT NULL,
  recheck_at INTEGER
) STRICT;
CREATE INDEX decision_by_task ON decision (task, at);
CREATE INDEX decision_by_run ON decision (run) WHERE run IS NOT NULL;
CREATE INDEX decision_loose ON decision (last_at) WHERE run IS NULL;

CREATE TABLE breaker (
  task TEXT NOT NULL,
  value TEXT NOT NULL,
  version INTEGER NOT NULL,
  open INTEGER NOT NULL,
  until INTEGER,
  trial_run TEXT NOT NULL,
  failed_attempts INTEGER NOT NULL,
  failed_ladders INTEGER NOT NULL,
  opened_at INTEGER NOT NULL,
  episode TEXT NOT NULL,
  PRIMARY KEY (task, value)
) STRICT, WITHOUT ROWID;

CREATE TABLE flag (
  name TEXT NOT NULL,
  date INTEGER,
  value TEXT NOT NULL,
  by TEXT NOT NULL,
  at INTEGER NOT NULL,
  expires INTEGER
) STRICT;
CREATE INDEX flag_by_name ON flag (name, date);

CREATE TABLE control (
  scope TEXT NOT NULL PRIMARY KEY,
  paused INTEGER NOT NULL,
  by TEXT NOT NULL,
  reason TEXT NOT NULL,
  at INTEGER NOT NULL,
  version INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE alert (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  episode TEXT NOT NULL,
  event TEXT NOT NULL,
  level TEXT NOT NULL,
  task TEXT NOT NULL,
  run_id TEXT NOT NULL,
  owner TEXT NOT NULL,
  title TEXT NOT NULL,
  body TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  next_try_at INTEGER NOT NULL,
  tries INTEGER NOT NULL,
  channel TEXT NOT NULL,
  last_error TEXT NOT NULL
) STRICT;
CREATE INDEX alert_by_task ON alert (task);
CREATE INDEX alert_pending ON alert (seq) WHERE state = 'pending';

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at INTEGER NOT NULL,
  by TEXT NOT NULL,
  action TEXT NOT NULL,
  task TEXT NOT NULL,
  run_id TEXT NOT NULL,
  reason TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE INDEX audit_by_task ON audit (task);
CREATE INDEX audit_by_run ON audit (run_id);
)sql";

// 2: the condition of run_open as DC_OPEN_STATES has it, for stores whose 1 had a list there.
constexpr const char* kOpenStates = R"sql(
DROP INDEX run_open;
CREATE INDEX run_open ON run (task, value)
  WHERE )sql" DC_OPEN_STATES ";\n";

}  // namespace

const std::vector<Migration>& Migrations() {
  static const std::vector<Migration> migrations = {{1, kFirst}, {2, kOpenStates}};
  return migrations;
}

int NewestSchema() { return Migrations().back().number; }

}  // namespace duecourse

// Statements of one database, prepared once and used again, with one error for a whole piece of work: after
// the first failure everything else does nothing, and the caller looks once at the end. So the code of a call
// reads as what it does. Internal to the SQLite store; one thread.
//
// SQL texts are named constants: a statement is found again by the address of its text.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "db/sqlite.h"
#include "time/civil.h"

namespace duecourse {

// Binds parameters in the order of the SQL.
class Put {
 public:
  explicit Put(Statement& statement) : statement_(statement) {}
  Put& operator<<(std::string_view value) {
    statement_.Bind(++index_, value);
    return *this;
  }
  Put& operator<<(const std::string& value) { return *this << std::string_view(value); }
  Put& operator<<(const char* value) { return *this << std::string_view(value); }
  Put& operator<<(int64_t value) {
    statement_.Bind(++index_, value);
    return *this;
  }
  Put& operator<<(int value) { return *this << static_cast<int64_t>(value); }
  Put& operator<<(bool value) { return *this << static_cast<int64_t>(value ? 1 : 0); }
  Put& operator<<(Instant value) { return *this << value.ms; }
  Put& operator<<(Millis value) { return *this << value.count; }
  Put& operator<<(CivilDay value) { return *this << static_cast<int64_t>(value.days); }
  Put& operator<<(std::nullopt_t) {
    statement_.BindNull(++index_);
    return *this;
  }
  template <typename T>
  Put& operator<<(const std::optional<T>& value) {
    return value ? *this << *value : *this << std::nullopt;
  }

 private:
  Statement& statement_;
  int index_ = 0;
};

// Reads columns in the order of the SQL. What cannot be what it should be (a state nobody knows, a number out
// of range) is remembered; the row is then not to be used.
class Take {
 public:
  explicit Take(const Statement& statement) : statement_(statement) {}
  std::string Text() { return std::string(statement_.Text(index_++)); }
  std::optional<std::string> MaybeText() { return statement_.MaybeText(index_++); }
  // The id of a run: it names files and lines elsewhere, so it is letters, digits, '-', '_' and '.' only.
  std::string RunId();
  int64_t Fence();  // 0 or more
  int64_t Number() { return statement_.Integer(index_++); }
  std::optional<int64_t> MaybeNumber() { return statement_.MaybeInteger(index_++); }
  int Int();
  bool Bool() { return Number() != 0; }
  Instant At() { return Instant{Number()}; }
  std::optional<Instant> MaybeAt();
  Millis Span() { return Millis{Number()}; }
  CivilDay Day();
  std::optional<CivilDay> MaybeDay();
  // A value of a closed list by its outside name.
  template <typename T>
  T Name(std::optional<T> (*from_name)(std::string_view), T otherwise) {
    std::string_view text = statement_.Text(index_++);
    std::optional<T> value = from_name(text);
    if (!value) Wrong(text);
    return value.value_or(otherwise);
  }
  // For whoever only shows rows: one that holds a name that this program does not know is shown with it, and
  // hides no other.
  void OnlyToShow() { only_to_show_ = true; }
  // As Name; only to be shown, a name that is not known goes to `as_stored`.
  template <typename T>
  T NameOr(std::optional<T> (*from_name)(std::string_view), T otherwise, std::string* as_stored) {
    if (!only_to_show_) return Name(from_name, otherwise);
    std::string_view text = statement_.Text(index_++);
    std::optional<T> value = from_name(text);
    if (!value) *as_stored = std::string(text);
    return value.value_or(otherwise);
  }
  // What was wrong first, or empty.
  const std::string& wrong() const { return wrong_; }
  std::string RowName() const;  // its first column, for people

 private:
  void Wrong(std::string_view what);

  const Statement& statement_;
  int index_ = 0;
  bool only_to_show_ = false;
  std::string wrong_;
};

class SqlSession {
 public:
  Database& db() { return db_; }
  const DbStatus& failure() const { return failure_; }
  bool failed() const { return !failure_.ok(); }
  void Fail(DbStatus status);
  void ClearFailure() { failure_ = {}; }
  // Ends all statements, then the database.
  void Close();

  // bind(Put&); no rows are expected.
  template <typename Bind>
  void Exec(const char* sql, Bind&& bind) {
    Statement* statement = Prepared(sql);
    if (statement == nullptr) return;
    Put put(*statement);
    bind(put);
    ++writes_;
    if (DbStatus status = statement->Run(); !status.ok()) Fail(std::move(status));
  }
  void Exec(const char* sql) {
    Exec(sql, [](Put&) {});
  }
  // row(Take&) for each row; false ends the reading. A row that could not be read is a failure, kCorrupt.
  template <typename Bind, typename Row>
  void Each(const char* sql, Bind&& bind, Row&& row) {
    Statement* statement = Prepared(sql);
    if (statement == nullptr) return;
    Put put(*statement);
    bind(put);
    for (bool more = true; more;) {
      DbStatus status = statement->Step(more);
      if (!status.ok()) return Fail(std::move(status));
      if (!more) return;
      Take take(*statement);
      bool go_on = row(take);
      if (!take.wrong().empty()) FailRow(sql, take);
      if (go_on && !failed()) continue;
      statement->Reset();
      return;
    }
  }
  // The first row, if any: true where there was one.
  template <typename Bind, typename Row>
  bool One(const char* sql, Bind&& bind, Row&& row) {
    bool found = false;
    Each(sql, bind, [&](Take& take) {
      found = true;
      row(take);
      return false;
    });
    return found && !failed();
  }
  int64_t changes() const { return db_.changes(); }
  // Statements executed since the count was last taken; a measure of how much log a checkpoint has to move.
  int64_t writes() const { return writes_; }
  void TakeWrites() { writes_ = 0; }
  int64_t last_insert_id() const { return db_.last_insert_id(); }

 private:
  Statement* Prepared(const char* sql);
  void FailRow(const char* sql, const Take& take);

  Database db_;
  std::map<const void*, Statement>
      statements_;  // by address of the text: found, never walked but to be ended
  DbStatus failure_;
  int64_t writes_ = 0;
};

}  // namespace duecourse

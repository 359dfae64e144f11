#include "store/sql_session.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace duecourse {

int Take::Int() {
  int64_t value = Number();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    Wrong(std::to_string(value));
    return 0;
  }
  return static_cast<int>(value);
}

std::string Take::RunId() {
  constexpr size_t kLongest = 100;
  std::string id = Text();
  const bool known = !id.empty() && id.size() <= kLongest && id.front() != '.' &&
                     std::all_of(id.begin(), id.end(), [](char c) {
                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                              c == '-' || c == '_' || c == '.';
                     });
  if (!known) Wrong(StrCat("run id ", id));
  return id;
}

int64_t Take::Fence() {
  const int64_t fence = Number();
  if (fence < 0) Wrong(StrCat("fence ", fence));
  return fence;
}

std::string Take::RowName() const { return ShowBytes(statement_.Text(0).substr(0, 60), false); }

std::optional<Instant> Take::MaybeAt() {
  std::optional<int64_t> value = MaybeNumber();
  if (!value) return std::nullopt;
  return Instant{*value};
}

CivilDay Take::Day() {
  // The years 0 to 9999; what lies beyond was not written by us and would overflow arithmetic.
  constexpr int64_t kFirst = -719'528;
  constexpr int64_t kLast = 2'932'896;
  int64_t value = Number();
  if (value < kFirst || value > kLast) {
    Wrong(StrCat("day ", value));
    return {};
  }
  return CivilDay{static_cast<int32_t>(value)};
}

std::optional<CivilDay> Take::MaybeDay() {
  if (!statement_.IsNull(index_)) return Day();
  ++index_;
  return std::nullopt;
}

void Take::Wrong(std::string_view what) {
  if (wrong_.empty())
    wrong_ = StrCat("column ", index_, " holds \"", ShowBytes(what.substr(0, 60), false), "\"");
}

void SqlSession::Fail(DbStatus status) {
  if (failure_.ok()) failure_ = std::move(status);
}

void SqlSession::FailRow(const char* sql, const Take& take) {
  std::string_view text = Trim(sql);
  Fail({DbCode::kCorrupt, 0,
        StrCat(db_.path(), ": row \"", take.RowName(), "\" was changed by somebody else: ", take.wrong(),
               ", which was never written there (", text.substr(0, 60), "…)")});
}

void SqlSession::Close() {
  statements_.clear();
  db_.Close();
  failure_ = {};
}

Statement* SqlSession::Prepared(const char* sql) {
  if (failed()) return nullptr;
  auto [place, fresh] = statements_.try_emplace(sql);
  if (!fresh) return &place->second;
  DbStatus status = Statement::Prepare(db_, sql, place->second);
  if (status.ok()) return &place->second;
  statements_.erase(place);
  Fail(std::move(status));
  return nullptr;
}

}  // namespace duecourse

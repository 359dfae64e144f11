#include "time/bulk.h"

#include <array>

#include "base/text.h"
#include "time/cron.h"
#include "time/zone_data.h"

namespace duecourse {
namespace {

constexpr size_t kInstantBytes = 20;  // 2026-12-01T00:01:00Z

// Appends whole seconds as text. The date is worked out once a day only, since lines of many instants are the
// rule.
class InstantWriter {
 public:
  void Append(Instant instant, std::string& out) {
    int64_t second = FloorDivide(instant.ms, 1000);
    int64_t day = FloorDivide(second, kDaySeconds);
    if (day != day_) {
      day_ = day;
      std::string date = FormatDay({static_cast<int32_t>(day)});
      text_ = {date[0], date[1], date[2], date[3], '-', date[5], date[6], '-', date[8], date[9],
               'T',     '0',     '0',     ':',     '0', '0',     ':',     '0', '0',     'Z'};
    }
    int64_t in_day = second - day * kDaySeconds;
    SetTwo(11, in_day / 3600);
    SetTwo(14, in_day / 60 % 60);
    SetTwo(17, in_day % 60);
    out.append(text_.data(), text_.size());
  }

 private:
  void SetTwo(size_t at, int64_t value) {
    text_[at] = static_cast<char>('0' + value / 10);
    text_[at + 1] = static_cast<char>('0' + value % 10);
  }

  int64_t day_ = INT64_MIN;
  std::array<char, kInstantBytes> text_{};
};

struct Columns {
  std::string_view expression;
  std::string_view zone;
  std::string_view from;
  std::string_view count;
};

// The last column, cut off the text; nothing where there is no tab left.
std::optional<std::string_view> TakeLast(std::string_view& text) {
  size_t tab = text.rfind('\t');
  if (tab == std::string_view::npos) return std::nullopt;
  std::string_view last = text.substr(tab + 1);
  text = text.substr(0, tab);
  return last;
}

Result<Columns> SplitLine(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::optional<std::string_view> count = TakeLast(line);
  std::optional<std::string_view> from = count ? TakeLast(line) : std::nullopt;
  std::optional<std::string_view> zone = from ? TakeLast(line) : std::nullopt;
  if (!zone) return Error("the line has too few columns; write expression<TAB>timezone<TAB>from<TAB>count");
  return Columns{line, *zone, *from, *count};
}

Result<std::string> Answer(const Columns& columns) {
  Result<Cron> cron = Cron::Parse(columns.expression);
  if (!cron.ok()) return cron.error();
  Result<Zone> zone = Zone::Load(std::string(columns.zone));
  if (!zone.ok()) return zone.error();
  Result<Instant> from = ParseUtc(columns.from);
  if (!from.ok()) return from.error().Wrap("from");
  std::optional<int64_t> count = ParseInteger(columns.count);
  if (!count || *count < 1 || *count > kMaxBulkCount) {
    return Error(StrCat("count \"", ShowBytes(columns.count.substr(0, 24), false),
                        "\" is no whole number from 1 to ", kMaxBulkCount));
  }
  std::string out;
  InstantWriter writer;
  std::optional<Instant> at = cron->Next(*from, *zone);
  if (!at)
    return Error(StrCat("nothing is due after ", FormatUtc(*from), ": the years of the schedule are over"));
  for (int64_t n = 0; n < *count && at; ++n, at = cron->Next(*at, *zone)) {
    if (n > 0) out += ',';
    writer.Append(*at, out);
  }
  return out;
}

}  // namespace

std::string NextLine(std::string_view line) {
  Result<Columns> columns = SplitLine(line);
  Result<std::string> answer = columns.ok() ? Answer(*columns) : Result<std::string>(columns.error());
  return answer.ok() ? std::move(answer).value()
                     : StrCat("error: ", ShowBytes(answer.error().message(), false));
}

}  // namespace duecourse

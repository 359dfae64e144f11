#include "exec/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <utility>

#include "base/text.h"

namespace duecourse {
namespace {

constexpr std::string_view kPrefix = "starts-";
constexpr size_t kReadMaxBytes = 256u << 20;

std::string KeyOf(const AttemptRef& ref) { return StrCat(ref.run_id, " ", ref.fence); }

// N of ".../starts-N".
std::optional<int64_t> NumberOf(const std::string& path) {
  std::string_view name = std::string_view(path).substr(path.rfind('/') + 1);
  if (!name.starts_with(kPrefix)) return std::nullopt;
  return ParseInteger(name.substr(kPrefix.size()));
}

}  // namespace

std::string AttemptName(const AttemptRef& ref) {
  // Run ids are ours (a letter and hex digits); one with '/' or a space in it would be another file, or
  // another line.
  CHECK(!ref.run_id.empty() && ref.run_id.front() != '.');
  CHECK(ref.run_id.find_first_of("/ \n") == std::string::npos);
  return StrCat(ref.run_id, ".", ref.fence);
}

std::string ResultPath(const std::string& data_folder, const AttemptRef& ref) {
  return StrCat(data_folder, "/attempts/", AttemptName(ref), ".result");
}

StartJournal::StartJournal(std::string data_folder, std::string boot_id, Log& log)
    : data_(std::move(data_folder)),
      folder_(data_.path() + "/attempts"),
      boot_id_(std::move(boot_id)),
      log_(log) {
  MutexLock lock(mutex_);
  std::vector<std::string> files;
  Result<std::vector<std::string>> listed = ListFiles(folder_, {""});
  if (listed.ok()) {
    for (const std::string& path : *listed) {
      std::optional<int64_t> number = NumberOf(path);
      if (!number.has_value()) continue;
      files.push_back(path);
      number_ = std::max(number_, *number);
    }
  }
  ReadFormer(files);
  Status opened = OpenNew();
  if (!opened.ok()) {
    log_.Problem(
        "start_markers",
        Json::MakeObject().Set("error", opened.error().message()).Set("next", "no attempt is started"));
    return;
  }
  for (const std::string& path : files) ::unlink(path.c_str());
}

void StartJournal::ReadFormer(const std::vector<std::string>& files) {
  bool any = false, all = true;
  for (const std::string& path : files) {
    Result<std::string> text = ReadFile(path, kReadMaxBytes);
    if (!text.ok()) {
      all = false;
      log_.Problem("start_markers", Json::MakeObject()
                                        .Set("error", text.error().message())
                                        .Set("next", "attempts without a marker count as perhaps started"));
      continue;
    }
    std::vector<std::string_view> lines = Split(*text, '\n');
    lines.pop_back();  // empty, or cut off
    // What an earlier boot left can tell nothing any more.
    if (lines.empty() || lines.front() != StrCat("boot ", boot_id_)) continue;
    any = true;
    for (std::string_view line : lines) Take(line);
  }
  complete_ = any && all;
}

void StartJournal::Take(std::string_view line) {
  std::vector<std::string_view> words = Split(line, ' ');
  if (words.size() < 3) return;
  const std::string key = StrCat(words[1], " ", words[2]);
  if (words.size() == 3 && words[0] == "start") entries_[key];
  if (words.size() == 3 && words[0] == "end") entries_.erase(key);
  if (words.size() == 4 && words[0] == "scratch") entries_[key].scratch = words[3];
  if (words.size() != 6 || words[0] != "process") return;
  Entry& entry = entries_[key];
  entry.pid = static_cast<pid_t>(ParseInteger(words[3]).value_or(0));
  entry.birth.earliest = ParseInteger(words[4]).value_or(0);
  entry.birth.latest = ParseInteger(words[5]).value_or(0);
}

std::string StartJournal::LinesOf(const std::string& key, const Entry& entry) {
  std::string lines = StrCat("start ", key, "\n");
  if (!entry.scratch.empty()) lines += StrCat("scratch ", key, " ", entry.scratch, "\n");
  if (entry.pid > 0) {
    lines +=
        StrCat("process ", key, " ", entry.pid, " ", entry.birth.earliest, " ", entry.birth.latest, "\n");
  }
  return lines;
}

Status StartJournal::OpenNew() {
  const std::string path = StrCat(folder_, "/", kPrefix, number_ + 1);
  std::string text = StrCat("boot ", boot_id_, "\n");
  for (const auto& entry : entries_) text += LinesOf(entry.first, entry.second);
  if (Status there = data_.Remake("attempts"); !there.ok()) return there;
  // Whole or not at all: a reader of this name finds everything that the file before it held.
  Status written = WriteFileAtomic(path, text, false);
  if (!written.ok()) return written;
  Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid()) return Error(StrCat(path, ": ", ErrnoText(errno)), errno);
  const std::string former = std::exchange(path_, path);
  fd_ = std::move(fd);
  ++number_;
  size_ = text.size();
  next_size_ = std::max(kJournalMaxBytes, 2 * size_);
  cut_off_ = false;
  if (!former.empty()) ::unlink(former.c_str());
  return {};
}

// A file that nobody could find any more holds no markers.
bool StartJournal::Removed() const {
  struct stat info {};
  return fd_.valid() && ::fstat(fd_.get(), &info) == 0 && info.st_nlink == 0;
}

Status StartJournal::Append(const std::string& lines) {
  if (Removed()) fd_.Reset();
  if (!fd_.valid() || size_ > next_size_) {
    Status opened = OpenNew();
    if (!opened.ok() && !fd_.valid()) return opened.error().Wrap("start marker");
    if (!opened.ok()) next_size_ = size_ + kJournalMaxBytes;  // the old one goes on; tried again later
  }
  const std::string whole = cut_off_ ? "\n" + lines : lines;
  const ssize_t n = ::write(fd_.get(), whole.data(), whole.size());
  cut_off_ = n != static_cast<ssize_t>(whole.size());
  if (n > 0) size_ += static_cast<size_t>(n);
  if (!cut_off_) return {};
  return Error(StrCat("start marker ", path_,
                      ": cannot write: ", n < 0 ? ErrnoText(errno) : "cut short, the disk is full"));
}

Status StartJournal::Start(const AttemptRef& ref, const std::string& scratch) {
  MutexLock lock(mutex_);
  const std::string key = KeyOf(ref);
  Entry entry;
  entry.scratch = scratch;
  Status written = Append(LinesOf(key, entry));
  if (written.ok()) entries_[key] = std::move(entry);
  return written;
}

Status StartJournal::Process(const AttemptRef& ref, pid_t pid, ProcessBirth birth) {
  MutexLock lock(mutex_);
  const std::string key = KeyOf(ref);
  Entry& entry = entries_[key];
  entry.pid = pid;
  entry.birth = birth;
  return Append(StrCat("process ", key, " ", pid, " ", birth.earliest, " ", birth.latest, "\n"));
}

void StartJournal::End(const std::vector<AttemptRef>& refs) {
  MutexLock lock(mutex_);
  std::string lines;
  for (const AttemptRef& ref : refs) {
    const std::string key = KeyOf(ref);
    if (entries_.erase(key) > 0) lines += StrCat("end ", key, "\n");
  }
  if (lines.empty()) return;
  // Where it cannot be written, the next daemon keeps markers that nobody asks about.
  Status written = Append(lines);
  if (!written.ok())
    log_.Warning("start_markers", Json::MakeObject().Set("error", written.error().message()));
}

StartJournal::Facts StartJournal::Look(const AttemptRef& ref) {
  MutexLock lock(mutex_);
  Facts facts;
  auto found = entries_.find(KeyOf(ref));
  if (found == entries_.end()) {
    facts.started = complete_ ? Facts::Started::kNever : Facts::Started::kPerhaps;
    if (complete_) return facts;
    Status noted = Append(LinesOf(KeyOf(ref), Entry()));
    if (noted.ok()) entries_[KeyOf(ref)];
    return facts;
  }
  facts.started = Facts::Started::kYes;
  facts.pid = found->second.pid;
  facts.birth = found->second.birth;
  facts.scratch = found->second.scratch;
  return facts;
}

}  // namespace duecourse

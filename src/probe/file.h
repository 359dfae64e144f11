// File preconditions: is the file there, finished, of today, and what it should
// be? Only regular files are read, never FIFOs, devices, folders or the kernel's
// own (/proc, /sys).
//
// Which files (GUARANTEES 7.2): what a path really leads to must lie under a root of
// `file_roots`, and exactly that is opened: a link put there in between is refused,
// not followed. (Links are habit: `latest.csv` points at today's file. Refusing all of
// them would only move the problem into a copy job.) Where no roots are named the rule
// may name any file, but a link may lead only about the folder in which it stands, or
// the folders of the settings and of the rule: whoever may put files there chooses
// no others. What a first line or a checksum is, beside what the rule asks for, is told
// of files under the roots alone; without roots, under those two folders.
//
// A file that changes while it is read is not ready. All calls block and may hang
// on a dead mount: they run on Workers.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"
#include "probe/look.h"
#include "probe/steady.h"
#include "time/zone.h"

namespace duecourse {

struct FileBounds {
  std::vector<std::string> roots;  // of the settings; empty: none are named
  std::vector<std::string> homes;  // what counts then: the settings' folder and the rule's
};

// One check, owning all it needs: it may outlive the rule.
struct FileCheck {
  std::string path;    // absolute
  std::string name;    // how people are told of it: as the rule writes it
  std::string folder;  // of the rule; names beneath it are shown short
  bool must_exist = true;
  std::optional<int64_t> min_rows;
  std::optional<int64_t> min_bytes;
  std::string first_line;  // empty: not asked
  std::string checksum;    // hex, or an absolute path; empty: not asked
  std::optional<Instant> modified_after;
  Millis stable_for;
  FileBounds bounds;
  Zone zone = Zone::Utc();  // for instants in texts
  LookTime time;
  // Bytes read so far, for whoever gives the look up: shared with it, for either may go first. Null: not
  // asked.
  std::shared_ptr<std::atomic<int64_t>> progress;
};

// A path as people are told of it: relative to the rule's folder where it lies beneath, safe to show.
std::string ShortName(const std::string& path, const std::string& folder);

Observation CheckFile(const FileCheck& check, SteadyFiles& steady, const std::atomic<bool>& cancelled);

// ---- parts, for their tests

// A regular file opened as the rules above say.
struct OpenedFile {
  Fd fd;
  struct stat info {};
  std::string real;        // where it really is
  bool may_quote = false;  // its content may be told
  std::atomic<int64_t>* progress = nullptr;
};
struct OpenFault {
  bool missing = false;
  std::string code;  // missing, forbidden, not_regular, unreadable, unresolved
  std::string text;
};
// Exactly one of the two is filled: fd is valid, or the fault has a code.
OpenFault OpenRegular(const std::string& path, const std::string& name, const FileBounds& bounds,
                      OpenedFile* out);

// Bytes of a first line that are told at the most.
inline constexpr size_t kFirstLineShown = 80;
// What is wrong with a first line, for people.
std::string FirstLineFault(const OpenedFile& file, const std::string& line, const std::string& wanted);

// What reading found.
struct FileContent {
  std::string first_line;  // without line end and byte-order mark, cut at kFirstLineMax
  int64_t rows = 0;        // lines that are not blank
  std::string sha256;
};
inline constexpr size_t kFirstLineMax = 64u << 10;
enum class Reading { kHead, kWhole, kWholeWithSum };  // the first line; rows too; the sum too
// False where it was cancelled or an error came: `fault`.
bool ReadContent(const OpenedFile& file, Reading reading, const std::atomic<bool>& cancelled,
                 FileContent* out, std::string* fault);

// The first line is the wanted text, or has it in it as a word of its own.
bool FirstLineFits(const std::string& line, const std::string& wanted);
// The SHA-256 in the text of a checksum file: alone, or as sha256sum and shasum --tag write it, for a file of
// this name; empty where there is none.
std::string ChecksumFor(const std::string& text, const std::string& file_name);
bool IsSha256(std::string_view text);

}  // namespace duecourse

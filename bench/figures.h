// What the benches measured: a line each for people, and the same lines once more in the summary at the end
// of `./dev bench`, which gives the file's name in DUECOURSE_BENCH_SUMMARY. Spans of time beside a limit of
// the machine's own are taken in the same run, since the same machine is another one an hour later.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace duecourse {

enum class Reached { kNone, kMet, kMissed };

struct Figure {
  std::string name;      // "W1 rate"
  std::string measured;  // "13774 runs/s"
  std::string limit;     // the machine's own beside it: "bare loop 21000 runs/s"; empty where there is none
  std::string ratio;     // "0.65"; empty where nothing is compared
  std::string target;    // "at least 0.50"
  Reached reached = Reached::kNone;
};
void Report(const Figure& figure);

inline Reached Meets(bool good) { return good ? Reached::kMet : Reached::kMissed; }
// With so many places after the point.
std::string Number(double value, int places = 0);

struct Span {
  double p50 = 0, p99 = 0, max = 0;
};
Span SpanOf(std::vector<double> values);

// A scratch folder for a bench, below DUECOURSE_BENCH_DIR or /tmp; it goes with its owner.
class BenchFolder {
 public:
  BenchFolder();
  ~BenchFolder();
  BenchFolder(const BenchFolder&) = delete;
  BenchFolder& operator=(const BenchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace duecourse

#include "figures.h"

#include <stdlib.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/check.h"
#include "base/text.h"

namespace duecourse {

void Report(const Figure& figure) {
  static const char* const kWords[] = {"", "met", "MISSED"};
  char text[400];
  std::snprintf(text, sizeof text, "%-26s %-34s %-36s %-7s %-16s %s", figure.name.c_str(),
                figure.measured.c_str(), figure.limit.c_str(), figure.ratio.c_str(), figure.target.c_str(),
                kWords[static_cast<int>(figure.reached)]);
  std::string line = text;
  line.resize(line.find_last_not_of(' ') + 1);
  line += '\n';
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  const char* path = ::getenv("DUECOURSE_BENCH_SUMMARY");
  if (path == nullptr) return;
  std::FILE* file = std::fopen(path, "a");
  CHECK(file != nullptr);
  std::fputs(line.c_str(), file);
  std::fclose(file);
}

std::string Number(double value, int places) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", places, value);
  return text;
}

Span SpanOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  auto at = [&](double share) {
    return values[std::min(values.size() - 1,
                           static_cast<size_t>(share * static_cast<double>(values.size())))];
  };
  return {at(0.50), at(0.99), values.back()};
}

BenchFolder::BenchFolder() {
  const char* base = ::getenv("DUECOURSE_BENCH_DIR");
  path_ = StrCat(base == nullptr ? "/tmp" : base, "/duecourse-bench-XXXXXX");
  CHECK(::mkdtemp(path_.data()) != nullptr);
}

BenchFolder::~BenchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace duecourse

// The machine's own limits, for the figures to stand beside: syncs of the disk, a bare SQLite loop of the
// statements that the store makes for a run which succeeds at once, and spawns. One thread each but where a
// number of threads is named; all block.
#pragma once

#include <string>
#include <vector>

#include "base/instant.h"
#include "figures.h"

namespace duecourse {

// A run as both the store's bench and the bare loop write it.
struct BenchRun {
  std::string id, task, key, identity, nonce;
};
inline constexpr Instant kBenchDue{1'764'547'200'000};
inline constexpr int kBenchBatch = 500;
inline constexpr const char* kBenchDetail =
    R"({"text":"inside its window, nothing in the way","window":"00:00-03:00"})";
inline constexpr const char* kBenchEndDetail = R"({"text":"exit 0 after 12 ms","bytes":0})";
std::vector<BenchRun> MakeBenchRuns(int count);

double SyncsPerSecond(const std::string& folder);

struct LoopSeconds {
  double plan = 0;    // planned and claimed
  double finish = 0;  // ended as a success
};
// In batches of 500, on tables of the store's schema in a new file in the folder.
LoopSeconds BareLoop(const std::string& folder, const std::vector<BenchRun>& runs);
double BareRunsPerSecond(int runs);
// Milliseconds of one run planned and claimed in a commit of its own, with a rest before each.
Span OneDurableCommit(int commits);

// Spawns of /bin/true a second, each waited for: posix_spawn with nothing beside it, and the product's own
// way (a session, two pipes, every other descriptor closed, a pidfd to wait by).
double BareSpawns(int count, int threads);
double ProductSpawns(int count, int threads);

}  // namespace duecourse

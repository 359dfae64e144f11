#include <cstring>

#include "cli/args.h"
#include "exec/helper.h"

// What jemalloc, which the program is linked with, reads at its start: few arenas and small caches, and free
// memory goes back to the system within a second (serve starts the thread that does so). An idle daemon is as
// small as with the C library's allocator (./dev bench W3). What MALLOC_CONF in the environment says comes
// after this.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "narenas:2,tcache_max:1024,dirty_decay_ms:500,muzzy_decay_ms:0";
}

int main(int argc, char** argv) {
  // Children that need another user are started through this program again (exec/helper.h).
  if (argc > 1 && std::strcmp(argv[1], "__exec") == 0) return duecourse::ExecHelperMain(argc, argv);
  return duecourse::RunCommandLine(argc, argv);
}

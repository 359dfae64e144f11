#include <cstring>

#include "cli/args.h"
#include "exec/helper.h"

int main(int argc, char** argv) {
  // Children that need another user or umask are started through this program again (exec/helper.h).
  if (argc > 1 && std::strcmp(argv[1], "__exec") == 0) return duecourse::ExecHelperMain(argc, argv);
  return duecourse::RunCommandLine(argc, argv);
}

#include "orchestrator/cli/cli.hpp"

#include <cstdio>

#include "hpo/version.hpp"

namespace hpo {

int run_cli(int, char**) {
    std::printf("hpo %s\n", version);
    return 0;
}

}  // namespace hpo

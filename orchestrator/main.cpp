#include "hpo/descriptor.hpp"
#include "orchestrator/cli/cli.hpp"

int main(int argc, char** argv) {
    hpo::open_standard_descriptors();
    return hpo::run_cli(argc, argv);
}

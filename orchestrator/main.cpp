#include "orchestrator/cli/cli.hpp"

int main(int argc, char** argv) { return hpo::run_cli(argc, argv); }

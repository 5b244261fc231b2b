// hpo-worker: trains trials for hpo.
#include "worker/program.hpp"

int main(int argc, char** argv) { return hpo::worker_main(argc, argv); }

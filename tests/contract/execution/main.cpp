// The test program is its own warden, as `hpo` is, and for some tests an orchestrator that can be killed.
#include <gmock/gmock.h>

#include <cstring>

#include "orchestrator/execution/warden.hpp"
#include "tests/contract/execution/mortal.hpp"

int main(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], hpo::warden_word) == 0) return hpo::run_warden(argc, argv);
    if (argc > 1 && std::strcmp(argv[1], hpo::testing_execution::mortal_word) == 0)
        return hpo::testing_execution::run_mortal(argc, argv);
    testing::InitGoogleMock(&argc, argv);
    return RUN_ALL_TESTS();
}

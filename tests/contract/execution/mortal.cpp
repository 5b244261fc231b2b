#include "tests/contract/execution/mortal.hpp"

#include <cstdio>
#include <cstdlib>
#include <set>

#include "tests/contract/execution/harness.hpp"

namespace hpo::testing_execution {

int run_mortal(int, char** argv) {
    LocalOptions options;
    options.mark = argv[2];
    const int places = std::atoi(argv[3]);
    const std::string start = argv[4];
    const std::string script = argv[5];
    Bench bench(options);
    std::set<Place> ready;
    std::int64_t trial = 0;
    bench.listener = [&](Place place, const execution::What& what) {
        if (std::holds_alternative<execution::Ready>(what)) {
            if (ready.insert(place).second && ready.size() == static_cast<std::size_t>(places)) {
                std::puts("ready");
                std::fflush(stdout);
            }
            bench.run_trial(place, script, 3, {++trial, 1});
        } else if (const auto* said = std::get_if<execution::Said>(&what)) {
            if (const auto* report = std::get_if<from_worker::Reported>(&said->message)) bench.go_on(place, *report);
            if (std::holds_alternative<from_worker::Finished>(said->message))
                bench.run_trial(place, script, 3, {++trial, 1});
        } else if (std::holds_alternative<execution::Exited>(what)) {
            bench.launch(place, start);
        }
        bench.log.clear();
    };
    for (Place place = 0; place < places; ++place) bench.launch(place, start);
    bench.loop.run();
    return 0;
}

}  // namespace hpo::testing_execution

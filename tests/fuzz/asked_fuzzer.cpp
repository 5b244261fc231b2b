// Fuzzes the requests of `hpo ask-tell`. Each gets one line of JSON as its answer, and a session that resumes the study
// finds every trial as it was left.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "hpo/lines.hpp"
#include "orchestrator/ask_tell/lines.hpp"
#include "tests/fuzz/require.hpp"
#include "tests/support/memory_store.hpp"

namespace {

using namespace hpo;

Study asked_study() {
    Study study;
    study.name = "asked";
    study.objective = {"loss", Direction::minimize, Objective::At::best};
    study.space = {Dimension{.name = "x"}};
    study.budget.trials = 9;
    study.budget.epochs = 9;
    study.sampler.type = "random";
    study.stopping = {{"asha", {{"grace", std::int64_t{1}}, {"factor", std::int64_t{3}}}}};
    return study;
}

Ledger open(const Study& study, testing::MemoryStore& store) {
    Ledger ledger(study, store, *Proposer::make(study), *Rules::make(study));
    require(ledger.replay().ok());
    ledger.session_started({"host", 1, "test"});
    return ledger;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const Study study = asked_study();
    testing::MemoryStore store;
    Ledger ledger = open(study, store);
    const ManualClock clock;
    ask_tell::Session session(study, ledger, clock);
    LineSplitter lines(ask_tell::longest_line);
    std::int64_t number = 0;
    lines.feed({reinterpret_cast<const char*>(data), size}, [&](std::string_view line) {
        const std::string answer = ask_tell::answer(session, line, ++number);
        require(answer.find('\n') == answer.size() - 1);
        require(nlohmann::json::parse(answer, nullptr, false).is_object());
    });
    const Ledger resumed = open(study, store);
    require(resumed.record().trials.size() == ledger.record().trials.size());
    for (const TrialRecord& trial : ledger.record().trials) {
        const TrialRecord& again = resumed.record().trial(trial.number);
        require(again.value.has_value() == trial.value.has_value() && again.attempt == trial.attempt);
        require(!trial.value || *again.value == *trial.value);
        require(again.state == trial.state || !is_final(trial.state));
    }
    return 0;
}

// Fuzzes journals of Optuna and the studies that they become: a study that a study file can say, or an error.
#include <cstdint>
#include <string_view>

#include "orchestrator/import/optuna_journal.hpp"
#include "orchestrator/study/study_file.hpp"
#include "tests/fuzz/require.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace hpo;
    const auto read = importing::read_optuna_journal({reinterpret_cast<const char*>(data), size}, "journal.log", {});
    if (!read) {
        require(!read.error().message.empty());
        return 0;
    }
    const auto imported = importing::import_optuna(*read, "mine", "journal.log");
    if (!imported) {
        require(!imported.error().message.empty());
        return 0;
    }
    require(parse_study(imported->study.source, "mine.yaml").ok());
    StudyRecord record;
    for (const Event& event : imported->events)
        apply(record, {record.sequence + 1, 0, event, {}}, imported->study.objective);
    require(static_cast<std::int64_t>(record.trials.size()) == imported->study.budget.trials);
    return 0;
}

#include "orchestrator/export/tables.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "orchestrator/export/registry.hpp"
#include "orchestrator/output/trial_json.hpp"

namespace hpo::exporting {

namespace {

class Row {
   public:
    void add(std::string_view text) {
        if (!first_) line_ += ',';
        first_ = false;
        line_ += csv_cell(text);
    }
    void add_count(std::int64_t number) { add(number > 0 ? std::to_string(number) : std::string()); }
    std::string end() {
        first_ = true;
        return std::exchange(line_, {}) + "\r\n";
    }

   private:
    std::string line_;
    bool first_ = true;
};

template <class Map>
void add_of(Row& row, const Map& map, const std::string& name) {
    const auto found = map.find(name);
    row.add(found == map.end() ? std::string() : to_text(found->second));
}

}  // namespace

std::string csv_cell(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
    std::string cell = "\"";
    for (const char c : text) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
    return cell + '"';
}

Result<void> write_csv(const Study& study, const StudyRecord& record, const WholeTrial&, const Sink& sink) {
    std::set<std::string> metrics, closing;
    for (const TrialRecord& trial : record.trials) {
        if (const Report* counts = counting_report(trial))
            for (const auto& [name, value] : counts->metrics) metrics.insert(name);
        for (const auto& [name, value] : trial.closing) closing.insert(name);
    }

    Row row;
    for (const char* name : {"trial", "state", "value", "best_step", "steps", "attempt"}) row.add(name);
    const bool repeats = std::any_of(record.trials.begin(), record.trials.end(),
                                     [](const TrialRecord& trial) { return trial.repeat_of != 0; });
    if (repeats)
        for (const char* name : {"repeat_of", "mean", "deviation", "seeds"}) row.add(name);
    for (const Dimension& dimension : study.space) row.add("params." + dimension.name);
    for (const std::string& name : metrics) row.add("values." + name);
    for (const std::string& name : closing) row.add("closing." + name);
    for (const char* name :
         {"rule", "reason", "seed", "started", "ended", "device", "peak_host_bytes", "peak_device_bytes"})
        row.add(name);
    if (auto done = sink(row.end()); !done) return done;

    for (const TrialRecord& trial : record.trials) {
        row.add(std::to_string(trial.number));
        row.add(to_text(trial.state));
        const auto add_number = [&](std::optional<double> number) { row.add(number ? to_text(*number) : ""); };
        add_number(own_value(trial));
        row.add_count(trial.best_step);
        row.add(std::to_string(trial.steps()));
        row.add(std::to_string(trial.attempt));
        if (repeats) {
            row.add_count(trial.repeat_of);
            add_number(trial.seeds.empty() ? std::nullopt : trial.value);
            add_number(deviation_of_seeds(trial));
            row.add_count(static_cast<std::int64_t>(trial.seeds.size()));
        }
        for (const Dimension& dimension : study.space) add_of(row, trial.params, dimension.name);
        const Report* counts = counting_report(trial);
        for (const std::string& name : metrics) add_of(row, counts ? counts->metrics : Metrics(), name);
        for (const std::string& name : closing) add_of(row, trial.closing, name);
        row.add(trial.rule);
        row.add(trial.reason);
        row.add(std::to_string(given_seed(study, trial)));
        row.add(utc_text(trial.started_at));
        row.add(utc_text(trial.ended_at));
        row.add(trial.allocation->device);
        row.add_count(trial.peak.host_bytes);
        row.add_count(trial.peak.device_bytes);
        if (auto done = sink(row.end()); !done) return done;
    }
    return {};
}

Result<void> write_jsonl(const Study& study, const StudyRecord& record, const WholeTrial& whole, const Sink& sink) {
    for (const TrialRecord& thinned : record.trials) {
        const auto trial = whole(thinned);
        if (!trial) return trial.error();
        const auto json = whole_trial_json(study, *trial);
        const std::string line = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
        if (auto done = sink(line); !done) return done;
    }
    return {};
}

const Format csv_format{.name = "csv", .description = "one row per trial", .print = write_csv};

const Format jsonl_format{
    .name = "jsonl", .description = "one JSON object per trial, with its steps", .print = write_jsonl};

}  // namespace hpo::exporting

// Runs of Weights & Biases as its offline mode leaves them, for wandb sync: a folder for each trial with a log of
// records. Field numbers are those of wandb/proto/wandb_internal.proto.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>

#include "hpo/protobuf.hpp"
#include "orchestrator/export/records.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/export/run_folders.hpp"

namespace hpo::exporting {

using protobuf::Message;

namespace {

using std::string;

namespace record_field {
constexpr int number = 1, history = 2, summary = 3, run = 17, exit = 18, last = 20, header = 21, footer = 22;
}
namespace run_field {
constexpr int id = 1, project = 3, config = 4, group = 6, name = 8, tags = 10, start = 17;
}

/// Returns a number as W&B reads it, with texts for those that JSON lacks (NaN, infinity).
string json_text(double value) {
    if (std::isnan(value)) return R"("NaN")";
    if (std::isinf(value)) return value > 0 ? R"("Infinity")" : R"("-Infinity")";
    return nlohmann::json(value).dump();
}

string json_text(const string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

string json_text(const Value& value) {
    if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
    if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
    if (const auto* real = std::get_if<double>(&value)) return json_text(*real);
    string text = to_text(value);
    const bool json = !std::holds_alternative<string>(value) && nlohmann::json::accept(text);  // a list, or a mapping
    return json ? text : json_text(text);
}

/// An item of a config, a history or a summary, which have the same fields.
Message item(const string& key, const string& json) { return Message().bytes(1, key).bytes(16, json); }

/// The run's folder and file are named after it: 12 of its 32 digits.
string short_id(const Study& study, const TrialRecord& trial) { return run_id(study, trial).substr(0, 12); }

string time_of_day(double seconds) {
    const auto whole = static_cast<std::time_t>(seconds);
    std::tm utc{};
    ::gmtime_r(&whole, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y%m%d_%H%M%S", &utc);
    return text;
}

Message timestamp(double seconds) {
    const double whole = std::floor(seconds);
    Message time;
    time.number(1, static_cast<std::int64_t>(whole));
    return time.number(2, static_cast<std::int64_t>((seconds - whole) * 1e9));
}

/// A run under construction: its log, with numbered records.
class Run {
   public:
    void add(int kind, const Message& content) {
        log_.append(Message().number(record_field::number, ++records_).message(kind, content).encoded());
    }
    [[nodiscard]] const string& bytes() const { return log_.bytes(); }

   private:
    BlockLog log_;
    std::int64_t records_ = 0;
};

Message run_record(const Study& study, const TrialRecord& trial) {
    Message config;
    for (const auto& [name, value] : trial.params) config.message(1, item(name, json_text(value)));
    return Message()
        .bytes(run_field::id, short_id(study, trial))
        .bytes(run_field::project, study.name)
        .message(run_field::config, config)
        .bytes(run_field::group, study.name)
        .bytes(run_field::name, "trial " + std::to_string(trial.number))
        .bytes(run_field::tags, to_text(trial.state))
        .message(run_field::start, timestamp(trial.started_at));
}

Message history_record(const TrialRecord& trial, const Report& report) {
    Message history;
    for (const auto& [name, value] : report.metrics) history.message(1, item(name, json_text(value)));
    history.message(1, item("_step", std::to_string(report.step)));
    if (report.seconds) {
        history.message(1, item("_runtime", json_text(*report.seconds)));
        history.message(1, item("_timestamp", json_text(trial.started_at + *report.seconds)));
    }
    return history.message(2, Message().number(1, report.step));
}

/// The last value of each metric, and how the trial ended.
Message summary_record(const TrialRecord& trial) {
    Message summary;
    std::map<string, double> last;
    for (const Report& report : trial.curve)
        for (const auto& [name, value] : report.metrics) last[name] = value;
    for (const auto& [name, value] : trial.closing) last[name] = value;
    for (const auto& [name, value] : last) summary.message(1, item(name, json_text(value)));
    if (trial.value) summary.message(1, item("hpo/value", json_text(*trial.value)));
    summary.message(1, item("hpo/trial", std::to_string(trial.number)));
    summary.message(1, item("hpo/state", json_text(string(to_text(trial.state)))));
    if (!trial.rule.empty()) summary.message(1, item("hpo/rule", json_text(trial.rule)));
    if (!trial.reason.empty()) summary.message(1, item("hpo/reason", json_text(trial.reason)));
    if (trial.steps() > 0) summary.message(1, item("_step", std::to_string(trial.steps())));
    return summary;
}

string log_of(const Study& study, const TrialRecord& trial) {
    Run run;
    run.add(record_field::header, {});
    run.add(record_field::run, run_record(study, trial));
    for (const Report& report : trial.curve) run.add(record_field::history, history_record(trial, report));
    run.add(record_field::summary, summary_record(trial));
    const bool failed = trial.state == TrialState::failed || trial.state == TrialState::diverged;
    const auto seconds = static_cast<std::int64_t>(std::max(0.0, trial.ended_at - trial.started_at));
    run.add(record_field::exit, Message().number(1, failed ? 1 : 0).number(2, seconds));
    run.add(record_field::last, {});  // older versions of W&B sync the end only then
    run.add(record_field::footer, {});
    return run.bytes();
}

/// W&B takes a run that has no end for one that has failed.
bool has_run(const TrialRecord& trial) { return has_begun(trial) && is_final(trial.state); }

Result<void> write_wandb(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                         const std::filesystem::path& folder, const std::filesystem::path& shown) {
    Tree tree(folder, shown);
    for (const TrialRecord& thinned : record.trials) {
        if (!has_run(thinned)) continue;
        const auto trial = whole(thinned);
        if (!trial) return trial.error();
        const string id = short_id(study, *trial);
        const string run = "offline-run-" + time_of_day(trial->started_at) + '-' + id;
        tree.folder(run + "/files");
        tree.file(run + "/run-" + id + ".wandb", log_of(study, *trial));
    }
    return tree.result();
}

}  // namespace

const Format wandb_format{.name = "wandb",
                          .description = "a folder of offline runs, for wandb sync OUT/offline-run-*",
                          .kind = OutputPath::Kind::folder,
                          .takes = has_run,
                          .taken_once = "ended",
                          .write = write_wandb};

}  // namespace hpo::exporting

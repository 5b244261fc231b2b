#include "orchestrator/export/tensorboard.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "hpo/protobuf.hpp"
#include "orchestrator/export/records.hpp"
#include "orchestrator/export/registry.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::exporting {

using protobuf::Message;

namespace {

namespace fs = std::filesystem;

// Field numbers of tensorboard/compat/proto (event, summary, tensor) and tensorboard/plugins/hparams (api,
// plugin_data).
namespace event_field {
constexpr int wall_time = 1, step = 2, file_version = 3, summary = 5;
}
namespace value_field {
constexpr int tag = 1, simple_value = 2, tensor = 8, metadata = 9;
}
namespace plugin_field {
constexpr int version = 1, experiment = 2, session_start = 3, session_end = 4;
}
enum class DataType { text = 1, flag = 2, number = 3 };
enum class Status { success = 1, failure = 2 };

Message event_at(double time, std::int64_t step) {
    Message event;
    event.real(event_field::wall_time, time);
    if (step != 0) event.number(event_field::step, step);
    return event;
}

Message scalar(const std::string& tag, double number) {
    return Message().bytes(value_field::tag, tag).single(value_field::simple_value, static_cast<float>(number));
}

/// Returns an event for the HPARAMS plugin. Its data is in the metadata of a tag; the value is a single float, 0.
std::string hparams_event(double time, const std::string& tag, const Message& data) {
    const Message plugin = Message().bytes(1, "hparams").bytes(2, data.encoded());
    const Message shape = Message().message(2, Message().number(1, 1));
    const Message zero = Message().number(1, 1).message(2, shape).bytes(5, std::string(4, '\0'));
    const Message value = Message()
                              .bytes(value_field::tag, tag)
                              .message(value_field::tensor, zero)
                              .message(value_field::metadata, Message().message(1, plugin).number(4, 2));
    return event_at(time, 0).message(event_field::summary, Message().message(1, value)).encoded();
}

/// Returns a google.protobuf.Value.
Message value_message(const Value& value, DataType type) {
    if (const auto* flag = std::get_if<bool>(&value); flag && type == DataType::flag)
        return Message().number(4, *flag ? 1 : 0);
    if (type == DataType::number) return Message().real(2, number_or(value, 0));
    return Message().bytes(3, to_text(value));
}

/// Returns the type of a dimension's values. Categories are numbers or flags if all choices are, else texts.
DataType type_of(const Dimension& dimension) {
    if (dimension.kind != Kind::categorical) return DataType::number;
    const auto all = [&](auto&& is) { return std::all_of(dimension.choices.begin(), dimension.choices.end(), is); };
    if (all([](const Value& v) { return std::holds_alternative<bool>(v); })) return DataType::flag;
    return all([](const Value& v) { return !std::isnan(number_or(v, std::nan(""))); }) ? DataType::number
                                                                                       : DataType::text;
}

Message parameter_info(const Dimension& dimension) {
    const DataType type = type_of(dimension);
    Message info;
    info.bytes(1, dimension.name).number(4, static_cast<int>(type));
    if (dimension.kind != Kind::categorical)
        return info.message(6, Message().real(1, dimension.low).real(2, dimension.high));
    Message choices;
    for (const Value& choice : dimension.choices) choices.message(1, value_message(choice, type));
    return info.message(5, choices);
}

/// Returns the metrics' names, the objective first.
std::vector<std::string> metrics_of(const Study& study, std::set<std::string> names) {
    names.erase(study.objective.metric);
    std::vector<std::string> ordered{study.objective.metric};
    ordered.insert(ordered.end(), names.begin(), names.end());
    return ordered;
}

std::string experiment_event(const Study& study, const std::set<std::string>& metrics, double time) {
    Message experiment;
    experiment.bytes(1, "hpo study " + study.name).real(3, time);
    for (const Dimension& dimension : study.space) experiment.message(4, parameter_info(dimension));
    for (const std::string& name : metrics_of(study, metrics))
        experiment.message(5, Message().message(1, Message().bytes(2, name)));
    const Message data = Message().number(plugin_field::version, 0).message(plugin_field::experiment, experiment);
    return hparams_event(time, "_hparams_/experiment", data);
}

std::string session_start_event(const Study& study, const TrialRecord& trial) {
    Message session;
    for (const Dimension& dimension : study.space)
        if (const auto found = trial.params.find(dimension.name); found != trial.params.end())
            session.message(
                1, Message().bytes(1, found->first).message(2, value_message(found->second, type_of(dimension))));
    session.bytes(4, "trial " + std::to_string(trial.number)).real(5, trial.started_at);
    const Message data = Message().number(plugin_field::version, 0).message(plugin_field::session_start, session);
    return hparams_event(trial.started_at, "_hparams_/session_start_info", data);
}

std::string session_end_event(const TrialRecord& trial) {
    const bool succeeded = trial.state == TrialState::complete || trial.state == TrialState::stopped;
    const Message session =
        Message().number(1, static_cast<int>(succeeded ? Status::success : Status::failure)).real(2, trial.ended_at);
    const Message data = Message().number(plugin_field::version, 0).message(plugin_field::session_end, session);
    return hparams_event(trial.ended_at, "_hparams_/session_end_info", data);
}

std::string report_event(const TrialRecord& trial, const Report& report) {
    Message summary;
    for (const auto& [name, number] : report.metrics) summary.message(1, scalar(name, number));
    const auto add = [&](const char* tag, const auto& number) {
        if (number) summary.message(1, scalar(tag, static_cast<double>(*number)));
    };
    add("hpo/learning_rate", report.learning_rate);
    add("hpo/it_s", report.iterations_per_second);
    add("hpo/samples_s", report.samples_per_second);
    add("hpo/gradient_norm", report.gradient_norm);
    add("hpo/peak_bytes", report.peak_bytes);
    add("hpo/peak_device_bytes", report.peak_device_bytes);
    return event_at(trial.started_at + report.seconds.value_or(0), report.step)
        .message(event_field::summary, summary)
        .encoded();
}

/// An event file under construction.
class EventFile {
   public:
    /// Creates the file in `folder`. `time` is in seconds since the epoch.
    static Result<EventFile> begin(const fs::path& folder, const fs::path& shown, double time) {
        char name[64];
        std::snprintf(name, sizeof name, "events.out.tfevents.%010lld.hpo", static_cast<long long>(time));
        auto file = FileWriter::create(folder / name, shown / name);
        if (!file) return file.error();
        EventFile events(std::move(*file));
        if (auto added = events.add(event_at(time, 0).bytes(event_field::file_version, "brain.Event:2").encoded());
            !added)
            return added.error();
        return events;
    }
    Result<void> add(const std::string& event) { return file_.write(framed(event)); }
    Result<void> close() { return file_.close(false); }

   private:
    explicit EventFile(FileWriter file) : file_(std::move(file)) {}
    FileWriter file_;
};

Result<void> write_trial(const Study& study, const TrialRecord& trial, const fs::path& folder, const fs::path& shown) {
    std::error_code failed;
    fs::create_directory(folder, failed);
    if (failed) return write_error(shown, failed.value());
    auto events = EventFile::begin(folder, shown, trial.started_at);
    if (!events) return events.error();
    if (auto added = events->add(session_start_event(study, trial)); !added) return added;
    for (const Report& report : trial.curve)
        if (auto added = events->add(report_event(trial, report)); !added) return added;
    if (is_final(trial.state))
        if (auto added = events->add(session_end_event(trial)); !added) return added;
    return events->close();
}

}  // namespace

Result<void> write_tensorboard(const Study& study, const StudyRecord& record, const WholeTrial& whole,
                               const fs::path& folder, const fs::path& shown) {
    std::set<std::string> metrics;
    for (const TrialRecord& thinned : record.trials) {
        if (!has_begun(thinned)) continue;
        const auto trial = whole(thinned);
        if (!trial) return trial.error();
        for (const Report& report : trial->curve)
            for (const auto& [metric, number] : report.metrics) metrics.insert(metric);
        char name[32];
        std::snprintf(name, sizeof name, "trial-%04lld", static_cast<long long>(trial->number));
        if (auto written = write_trial(study, *trial, folder / name, shown / name); !written) return written;
    }
    const double time = record.trials.empty() ? record.last_time : record.trials.front().queued_at;
    auto events = EventFile::begin(folder, shown, time);
    if (!events) return events.error();
    if (auto added = events->add(experiment_event(study, metrics, time)); !added) return added;
    return events->close();
}

const Format tensorboard_format{.name = "tensorboard",
                                .description = "a folder of event files",
                                .kind = OutputPath::Kind::folder,
                                .takes = has_begun,
                                .write = write_tensorboard};

}  // namespace hpo::exporting

#include "orchestrator/store/packed.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "hpo/from_chars.hpp"
#include "hpo/message_fields.hpp"
#include "hpo/protobuf.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/store/event_codec.hpp"

namespace hpo::packed {
namespace {

using protobuf::Broken, protobuf::Fields, protobuf::Message;

static_assert(std::endian::native == std::endian::little);

void add_real(std::string& bytes, double number) {
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

double real_at(std::string_view bytes, std::size_t at) {
    double number = 0;
    if (bytes.size() < at + sizeof number) throw Broken("a list of numbers is cut off");
    std::memcpy(&number, bytes.data() + at, sizeof number);
    return number;
}

std::string of_reals(const std::vector<double>& numbers) {
    std::string bytes;
    for (double number : numbers) add_real(bytes, number);
    return bytes;
}

std::vector<double> to_reals(std::string_view bytes) {
    std::vector<double> numbers;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(double)) numbers.push_back(real_at(bytes, at));
    return numbers;
}

/// The number, then the name.
std::string of_metric(const std::string& name, double value) {
    std::string bytes;
    add_real(bytes, value);
    return bytes += name;
}

void add_metric(Metrics& metrics, std::string_view bytes) {
    const double value = real_at(bytes, 0);
    metrics.emplace(bytes.substr(sizeof value), value);
}

/// Reads parameters that `dump` has written, if all are numbers, flags and plain texts, as usual: six times as fast as
/// the JSON library. Returns false for others. `params` is empty, and may expect names.
bool read_plain_params(std::string_view json, Params& params) {
    const auto take = [&](char c) {
        if (json.empty() || json.front() != c) return false;
        json.remove_prefix(1);
        return true;
    };
    const auto text = [&]() -> std::optional<std::string_view> {
        if (!take('"')) return std::nullopt;
        const auto end = json.find_first_of("\"\\");
        if (end == std::string_view::npos || json[end] == '\\') return std::nullopt;
        const std::string_view found = json.substr(0, end);
        json.remove_prefix(end + 1);
        return found;
    };
    const auto value = [&]() -> std::optional<Value> {
        if (json.starts_with('"')) {
            const auto found = text();
            return found ? std::optional<Value>(std::string(*found)) : std::nullopt;
        }
        const std::string_view token = json.substr(0, json.find_first_of(",}"));
        json.remove_prefix(token.size());
        if (token == "true") return Value(true);
        if (token == "false") return Value(false);
        const char* const end = token.data() + token.size();
        const bool real = token.find_first_of(".eE") != std::string_view::npos;
        std::int64_t number = 0;
        double fraction = 0;
        const auto [at, error] =
            real ? from_chars(token.data(), end, fraction) : std::from_chars(token.data(), end, number);
        if (token.empty() || error != std::errc() || at != end || std::abs(number) > std::int64_t{1} << 53)
            return std::nullopt;
        return real ? Value(fraction) : Value(number);
    };
    if (!take('{')) return false;
    while (!take('}')) {
        if (!params.empty() && !take(',')) return false;
        const auto name = text();
        if (!name || !take(':')) return false;
        auto read = value();
        if (!read) return false;
        params.emplace(*name, *std::move(read));
    }
    return json.empty();
}

void read_params(std::string_view json, Params& params) {
    if (!read_plain_params(json, params)) params = wire::to_params(wire::Json::parse(json));
}

// ---- Described structures. They have no JSON form, and so no keys.

template <Is<StartUps> Self, class Visit>
void visit_fields(Self& starts, Visit&& visit) {
    visit({"", 1, Presence::always}, starts.number);
    visit({"", 2, Presence::always}, starts.last.seconds);
    visit({"", 3, Presence::always}, starts.last.steps);
    visit({"", 4}, starts.again.seconds);
    visit({"", 5}, starts.again.steps);
}

template <Is<SoFar> Self, class Visit>
void visit_fields(Self& so_far, Visit&& visit) {
    visit({"", 1}, so_far.value);
    visit({"", 2, Presence::always}, so_far.best_step);
    visit({"", 3, Presence::always}, so_far.trained);
    visit({"", 4}, so_far.starts);
}

/// Field 22 was a small picture of the losses, which studies of earlier versions have.
constexpr int trial_point = 5, trial_params = 6, trial_allocation = 12, trial_report = 21, trial_pace = 25;

/// All but the reports and the pace, which are selected from the curve.
template <Is<TrialRecord> Self, class Visit>
void visit_fields(Self& trial, Visit&& visit) {
    visit({"", 1, Presence::always}, trial.number);
    visit({"", 2, Presence::always}, trial.state);
    visit({"", 3, Presence::always}, trial.attempt);
    visit({"", 4, Presence::always}, trial.failures);
    visit({"", trial_point, Presence::always}, trial.point);
    visit({"", trial_params, Presence::always}, trial.params);
    visit({"", 7}, trial.value);
    visit({"", 8}, trial.best_step);
    visit({"", 9}, trial.rule);
    visit({"", 10}, trial.reason);
    visit({"", 11}, trial.where);
    visit({"", trial_allocation, Presence::always}, trial.allocation);
    visit({"", 13, Presence::always}, trial.peak.device_bytes);
    visit({"", 14, Presence::always}, trial.peak.host_bytes);
    visit({"", 15, Presence::always}, trial.memory_deaths);
    visit({"", 16}, trial.requeued);
    visit({"", 17, Presence::always}, trial.log);
    visit({"", 18, Presence::always}, trial.queued_at);
    visit({"", 19, Presence::always}, trial.started_at);
    visit({"", 20, Presence::always}, trial.ended_at);
    visit({"", 23, Presence::always}, trial.trained);
    visit({"", 24}, trial.closing);
    visit({"", 26}, trial.starts);
    visit({"", 27}, trial.awaited_since);
    visit({"", 28}, trial.spared);
    visit({"", 29}, trial.repeat_of);
    visit({"", 30}, trial.seeds);
    visit({"", 31}, trial.means);
}

constexpr std::size_t count_of(TrialState) { return trial_state_names.size(); }
constexpr std::size_t count_of(Outcome) { return outcome_names.size(); }

// ---- The codec

template <class T>
Message message_of(const T& described);

template <class T>
void add(Message& message, int field, const T& value) {
    if constexpr (std::is_same_v<T, double>)
        message.real(field, value);
    else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>)
        message.number(field, static_cast<std::int64_t>(value));
    else if constexpr (std::is_same_v<T, std::string>)
        message.bytes(field, value);
    else if constexpr (std::is_same_v<T, std::vector<double>>)
        message.bytes(field, of_reals(value));
    else if constexpr (std::is_same_v<T, Metrics>)
        for (const auto& [name, number] : value) message.bytes(field, of_metric(name, number));
    else if constexpr (std::is_same_v<T, Params>)
        message.bytes(field, wire::from(value).dump(-1, ' ', false, wire::Json::error_handler_t::replace));
    else if constexpr (requires { value.has_value(); })
        add(message, field, *value);
    else if constexpr (std::is_same_v<T, SharedValue<Allocation>>)
        add(message, field, *value);
    else
        message.message(field, message_of(value));
}

template <class T>
Message message_of(const T& described) {
    Message message;
    visit_fields(described, [&](const Field& field, const auto& value) {
        if (is_written(field, value)) add(message, field.number, value);
    });
    return message;
}

template <class T>
void take_fields(T& described, std::string_view bytes);

/// Reads the current field.
template <class T>
void take(const Fields& fields, T& into) {
    if constexpr (std::is_same_v<T, double>) {
        into = fields.real();
    } else if constexpr (std::is_enum_v<T>) {
        const std::int64_t number = fields.number();
        if (number < 0 || number >= static_cast<std::int64_t>(count_of(T{}))) throw Broken("a state that is not known");
        into = static_cast<T>(number);
    } else if constexpr (std::is_integral_v<T>) {
        into = static_cast<T>(fields.number());
    } else if constexpr (std::is_same_v<T, std::string>) {
        into = fields.bytes();
    } else if constexpr (std::is_same_v<T, std::vector<double>>) {
        into = to_reals(fields.bytes());
    } else if constexpr (std::is_same_v<T, Metrics>) {
        add_metric(into, fields.bytes());
    } else if constexpr (std::is_same_v<T, Params>) {
        read_params(fields.bytes(), into);
    } else if constexpr (requires { into.emplace(); }) {
        take(fields, into.emplace());
    } else if constexpr (std::is_same_v<T, SharedValue<Allocation>>) {
        Allocation allocation;
        take(fields, allocation);
        into = std::move(allocation);
    } else {
        take_fields(into, fields.bytes());
    }
}

template <class T>
void take_field(T& described, const Fields& fields) {
    visit_fields(described, [&](const Field& field, auto& value) {
        if (field.number == fields.field()) take(fields, value);
    });
}

template <class T>
void take_fields(T& described, std::string_view bytes) {
    for (Fields fields(bytes); fields.next();) take_field(described, fields);
}

}  // namespace

std::string of(const Report& report) { return message_of(report).encoded(); }

Report to_report(std::string_view bytes) {
    Report report;
    take_fields(report, bytes);
    return report;
}

std::string of(const SoFar& so_far) { return message_of(so_far).encoded(); }

SoFar to_so_far(std::string_view bytes) {
    SoFar so_far;
    take_fields(so_far, bytes);
    return so_far;
}

std::string of(const TrialRecord& trial) {
    Message message = message_of(trial);
    for (const Report* report : best_and_last_reports(trial)) message.bytes(trial_report, of(*report));
    if (const auto pace = seconds_between_steps(trial)) message.real(trial_pace, *pace);
    return message.encoded();
}

namespace {

/// Returns true if a record with these parts has the field of a trial in this state. A trial that has not ended may go
/// on, which needs the fields that an ended trial leaves out.
constexpr bool has_field(TrialParts parts, int field, TrialState state) {
    if (parts == TrialParts::all) return true;
    if (field == trial_point) return false;
    if (field == trial_params) return parts == TrialParts::shown || parts == TrialParts::listed;
    if (field == trial_report && parts != TrialParts::standing) return true;
    if (parts == TrialParts::shown || parts == TrialParts::without_parameters) return true;
    switch (field) {
        case 1:   // number
        case 2:   // state
        case 3:   // attempt
        case 7:   // value
        case 8:   // best step
        case 9:   // rule
        case 10:  // reason
        case 23:  // trained
        case 29:  // repeated trial
        case 30:  // seeds
        case 31:  // means
            return true;
        default:
            return !is_final(state);
    }
}

}  // namespace

TrialRecord to_trial(std::string_view bytes, TrialParts parts) { return TrialReader().read(bytes, parts); }

TrialRecord TrialReader::read(std::string_view bytes, TrialParts parts) {
    TrialRecord trial;
    trial.thinned = true;
    for (Fields fields(bytes); fields.next();) {
        if (!has_field(parts, fields.field(), trial.state)) continue;
        switch (fields.field()) {
            case trial_report: {
                Report& report = trial.curve.emplace_back();
                report.metrics.expect(in_common_.names_of_metrics());
                take_fields(report, fields.bytes());
                break;
            }
            case trial_pace:
                trial.pace = fields.real();
                break;
            case trial_allocation:
                if (fields.bytes() != allocation_bytes_) {
                    take(fields, allocation_);
                    allocation_bytes_ = fields.bytes();
                }
                trial.allocation = allocation_;
                break;
            case trial_params:
                trial.params.expect(in_common_.names_of_params());
                [[fallthrough]];
            default:
                take_field(trial, fields);
        }
    }
    in_common_.share(trial);
    if (trial.repeat_of < 0 || (trial.repeat_of != 0 && trial.repeat_of >= trial.number))
        throw Broken("a trial that repeats no earlier one");
    return trial;
}

std::string of_totals(const StudyRecord& record, const TrialRows& rows) {
    return Message()
        .number(1, record.sequence)
        .real(2, record.seconds)
        .number(3, record.held ? 1 : 0)
        .real(4, record.held_since)
        .real(5, record.last_time)
        .bytes(6, record.end_reason)
        .number(7, rows.trials)
        .number(8, static_cast<std::int64_t>(rows.sum))
        .number(9, static_cast<std::int64_t>(record.end))
        .encoded();
}

TrialRows trial_rows_of(std::string_view totals) {
    TrialRows rows;
    for (Fields fields(totals); fields.next();) {
        if (fields.field() == 7) rows.trials = fields.number();
        if (fields.field() == 8) rows.sum = static_cast<std::uint64_t>(fields.number());
    }
    return rows;
}

namespace {

SessionEnd to_session_end(std::int64_t number) {
    if (number < 0 || number >= static_cast<std::int64_t>(session_end_names.size()))
        throw Broken("an end of a session that is not known");
    return static_cast<SessionEnd>(number);
}

}  // namespace

void read_totals(StudyRecord& record, std::string_view bytes) {
    std::optional<SessionEnd> end;
    for (Fields fields(bytes); fields.next();) switch (fields.field()) {
            case 1:
                record.sequence = record.summarized = fields.number();
                break;
            case 2:
                record.seconds = fields.real();
                break;
            case 3:
                record.held = fields.number() != 0;
                break;
            case 4:
                record.held_since = fields.real();
                break;
            case 5:
                record.last_time = fields.real();
                break;
            case 6:
                record.end_reason = fields.text();
                break;
            case 9:
                end = to_session_end(fields.number());
                break;
            default:
                break;
        }
    record.end = end ? *end : end_in_earlier_versions(record.end_reason);
}

}  // namespace hpo::packed

#include "orchestrator/store/packed.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "hpo/protobuf.hpp"
#include "hpo/wire.hpp"

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

template <class Number>
struct Member {
    int field;
    std::optional<Number> Report::*member;
};

constexpr int step = 1, metric = 2, warning = 16;
constexpr std::array reals{Member<double>{4, &Report::seconds},
                           Member<double>{5, &Report::iterations_per_second},
                           Member<double>{6, &Report::iterations_per_second_overall},
                           Member<double>{7, &Report::samples_per_second},
                           Member<double>{8, &Report::samples_per_second_overall},
                           Member<double>{9, &Report::gradient_norm},
                           Member<double>{10, &Report::learning_rate},
                           Member<double>{11, &Report::loss_deviation},
                           Member<double>{12, &Report::loss_trend}};
constexpr std::array integers{
    Member<std::int64_t>{3, &Report::iteration}, Member<std::int64_t>{13, &Report::micro_batch},
    Member<std::int64_t>{14, &Report::peak_bytes}, Member<std::int64_t>{15, &Report::peak_device_bytes}};

Message of_forecast(const StepForecast& forecast) {
    Message message;
    message.bytes(1, forecast.device)
        .real(2, forecast.uncorrected)
        .real(3, forecast.factor)
        .number(4, forecast.trials)
        .number(5, forecast.done)
        .real(6, forecast.trained)
        .bytes(7, forecast.why);
    return message;
}

StepForecast to_forecast(std::string_view bytes) {
    StepForecast forecast;
    for (Fields fields(bytes); fields.next();) switch (fields.field()) {
            case 1:
                forecast.device = fields.text();
                break;
            case 2:
                forecast.uncorrected = fields.real();
                break;
            case 3:
                forecast.factor = fields.real();
                break;
            case 4:
                forecast.trials = fields.number();
                break;
            case 5:
                forecast.done = fields.number();
                break;
            case 6:
                forecast.trained = fields.real();
                break;
            case 7:
                forecast.why = fields.text();
                break;
            default:
                break;
        }
    return forecast;
}

Message of_allocation(const Allocation& given) {
    Message message;
    message.number(1, given.footprint.device_bytes)
        .number(2, given.footprint.host_bytes)
        .real(3, given.footprint.cores);
    if (!given.device.empty()) message.bytes(4, given.device);
    if (given.alone) message.number(5, 1);
    if (given.micro_batches) message.number(6, given.micro_batches);
    if (!given.environment.empty()) message.bytes(7, given.environment);
    if (!given.forecast.device.empty()) message.message(8, of_forecast(given.forecast));
    if (given.start > 0) message.real(9, given.start);
    if (!given.host.empty()) message.bytes(10, given.host);
    return message;
}

Allocation to_allocation(std::string_view bytes) {
    Allocation given;
    for (Fields fields(bytes); fields.next();) switch (fields.field()) {
            case 1:
                given.footprint.device_bytes = fields.number();
                break;
            case 2:
                given.footprint.host_bytes = fields.number();
                break;
            case 3:
                given.footprint.cores = fields.real();
                break;
            case 4:
                given.device = fields.text();
                break;
            case 5:
                given.alone = fields.number() != 0;
                break;
            case 6:
                given.micro_batches = fields.number();
                break;
            case 7:
                given.environment = fields.text();
                break;
            case 8:
                given.forecast = to_forecast(fields.bytes());
                break;
            case 9:
                given.start = fields.real();
                break;
            case 10:
                given.host = fields.text();
                break;
            default:
                break;
        }
    return given;
}

Message of_starts(const StartUps& starts) {
    Message message;
    message.number(1, starts.number).real(2, starts.last.seconds).number(3, starts.last.steps);
    if (starts.restarts() > 0) message.real(4, starts.again.seconds).number(5, starts.again.steps);
    return message;
}

StartUps to_starts(std::string_view bytes) {
    StartUps starts;
    for (Fields fields(bytes); fields.next();) {
        if (fields.field() == 1) starts.number = fields.number();
        if (fields.field() == 2) starts.last.seconds = fields.real();
        if (fields.field() == 3) starts.last.steps = fields.number();
        if (fields.field() == 4) starts.again.seconds = fields.real();
        if (fields.field() == 5) starts.again.steps = fields.number();
    }
    return starts;
}

/// The number, then the name.
std::string of_metric(const std::string& name, double value) {
    std::string bytes;
    add_real(bytes, value);
    return bytes += name;
}

void add_metric(Metrics& metrics, std::string_view bytes) {
    const double value = real_at(bytes, 0);
    metrics.emplace_hint(metrics.end(), bytes.substr(sizeof value), value);
}

/// Reads parameters that `dump` has written, if all are numbers, flags and plain texts, as usual: six times as fast as
/// the JSON library. Returns nothing for others.
std::optional<Params> plain_params(std::string_view json) {
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
            real ? std::from_chars(token.data(), end, fraction) : std::from_chars(token.data(), end, number);
        if (token.empty() || error != std::errc() || at != end || std::abs(number) > std::int64_t{1} << 53)
            return std::nullopt;
        return real ? Value(fraction) : Value(number);
    };
    Params params;
    if (!take('{')) return std::nullopt;
    while (!take('}')) {
        if (!params.empty() && !take(',')) return std::nullopt;
        const auto name = text();
        if (!name || !take(':')) return std::nullopt;
        auto read = value();
        if (!read) return std::nullopt;
        params.emplace_hint(params.end(), *name, *std::move(read));
    }
    return json.empty() ? std::optional(std::move(params)) : std::nullopt;
}

Params to_params(std::string_view json) {
    if (auto plain = plain_params(json)) return *std::move(plain);
    return wire::to_params(wire::Json::parse(json));
}

template <class Enum>
Enum to_enum(std::int64_t number, std::size_t count) {
    if (number < 0 || number >= static_cast<std::int64_t>(count)) throw Broken("a state that is not known");
    return static_cast<Enum>(number);
}

}  // namespace

std::string of(const Report& report) {
    Message message;
    message.number(step, report.step);
    for (const auto& [name, value] : report.metrics) message.bytes(metric, of_metric(name, value));
    for (const auto& [field, member] : reals)
        if (report.*member) message.real(field, *(report.*member));
    for (const auto& [field, member] : integers)
        if (report.*member) message.number(field, *(report.*member));
    if (!report.warning.empty()) message.bytes(warning, report.warning);
    return message.encoded();
}

Report to_report(std::string_view bytes) {
    Report report;
    for (Fields fields(bytes); fields.next();) {
        const int field = fields.field();
        if (field == step) {
            report.step = fields.number();
        } else if (field == metric) {
            add_metric(report.metrics, fields.bytes());
        } else if (field == warning) {
            report.warning = fields.bytes();
        } else {
            for (const auto& [known, member] : reals)
                if (known == field) report.*member = fields.real();
            for (const auto& [known, member] : integers)
                if (known == field) report.*member = fields.number();
        }
    }
    return report;
}

std::string of(const SoFar& so_far) {
    Message message;
    if (so_far.value) message.real(1, *so_far.value);
    message.number(2, so_far.best_step).number(3, so_far.trained);
    if (so_far.starts.number > 0) message.message(4, of_starts(so_far.starts));
    return message.encoded();
}

SoFar to_so_far(std::string_view bytes) {
    SoFar so_far;
    for (Fields fields(bytes); fields.next();) {
        if (fields.field() == 1) so_far.value = fields.real();
        if (fields.field() == 2) so_far.best_step = fields.number();
        if (fields.field() == 3) so_far.trained = fields.number();
        if (fields.field() == 4) so_far.starts = to_starts(fields.bytes());
    }
    return so_far;
}

std::string of(const TrialRecord& trial) {
    Message message;
    message.number(1, trial.number).number(2, static_cast<std::int64_t>(trial.state));
    message.number(3, trial.attempt).number(4, trial.failures);
    message.bytes(5, of_reals(trial.point));
    message.bytes(6, wire::from(trial.params).dump(-1, ' ', false, wire::Json::error_handler_t::replace));
    if (trial.value) message.real(7, *trial.value).number(8, trial.best_step);
    if (!trial.rule.empty()) message.bytes(9, trial.rule);
    if (!trial.reason.empty()) message.bytes(10, trial.reason);
    if (!trial.where.empty()) message.bytes(11, trial.where);
    message.message(12, of_allocation(trial.allocation));
    message.number(13, trial.peak.device_bytes).number(14, trial.peak.host_bytes);
    message.number(15, trial.memory_deaths);
    if (trial.requeued) message.number(16, static_cast<std::int64_t>(*trial.requeued));
    message.number(17, trial.log);
    message.real(18, trial.queued_at).real(19, trial.started_at).real(20, trial.ended_at);
    for (const Report* report : best_and_last_reports(trial)) message.bytes(21, of(*report));
    if (const auto losses = condensed_losses(trial); !losses.empty()) message.bytes(22, of_reals(losses));
    message.number(23, trial.trained);
    for (const auto& [name, value] : trial.closing) message.bytes(24, of_metric(name, value));
    if (const auto pace = seconds_between_steps(trial)) message.real(25, *pace);
    if (trial.starts.number > 0) message.message(26, of_starts(trial.starts));
    if (trial.awaited_since != 0) message.real(27, trial.awaited_since);
    if (trial.spared) message.number(28, 1);
    if (trial.repeat_of != 0) message.number(29, trial.repeat_of);
    if (!trial.seeds.empty()) message.bytes(30, of_reals(trial.seeds));
    for (const auto& [name, value] : trial.means) message.bytes(31, of_metric(name, value));
    return message.encoded();
}

TrialRecord to_trial(std::string_view bytes, bool bare) {
    TrialRecord trial;
    trial.thinned = true;
    for (Fields fields(bytes); fields.next();) switch (fields.field()) {
            case 1:
                trial.number = fields.number();
                break;
            case 2:
                trial.state = to_enum<TrialState>(fields.number(), trial_state_names.size());
                break;
            case 3:
                trial.attempt = fields.number();
                break;
            case 4:
                trial.failures = fields.number();
                break;
            case 5:
                if (!bare) trial.point = to_reals(fields.bytes());
                break;
            case 6:
                if (!bare) trial.params = to_params(fields.bytes());
                break;
            case 7:
                trial.value = fields.real();
                break;
            case 8:
                trial.best_step = fields.number();
                break;
            case 9:
                trial.rule = fields.text();
                break;
            case 10:
                trial.reason = fields.text();
                break;
            case 11:
                trial.where = fields.text();
                break;
            case 12:
                trial.allocation = to_allocation(fields.bytes());
                break;
            case 13:
                trial.peak.device_bytes = fields.number();
                break;
            case 14:
                trial.peak.host_bytes = fields.number();
                break;
            case 15:
                trial.memory_deaths = fields.number();
                break;
            case 16:
                trial.requeued = to_enum<Outcome>(fields.number(), outcome_names.size());
                break;
            case 17:
                trial.log = fields.number();
                break;
            case 18:
                trial.queued_at = fields.real();
                break;
            case 19:
                trial.started_at = fields.real();
                break;
            case 20:
                trial.ended_at = fields.real();
                break;
            case 21:
                trial.curve.push_back(to_report(fields.bytes()));
                break;
            case 22:
                trial.losses = to_reals(fields.bytes());
                break;
            case 23:
                trial.trained = fields.number();
                break;
            case 24:
                add_metric(trial.closing, fields.bytes());
                break;
            case 25:
                trial.pace = fields.real();
                break;
            case 26:
                trial.starts = to_starts(fields.bytes());
                break;
            case 27:
                trial.awaited_since = fields.real();
                break;
            case 28:
                trial.spared = fields.number() != 0;
                break;
            case 29:
                trial.repeat_of = fields.number();
                break;
            case 30:
                trial.seeds = to_reals(fields.bytes());
                break;
            case 31:
                add_metric(trial.means, fields.bytes());
                break;
            default:
                break;
        }
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

void read_totals(StudyRecord& record, std::string_view bytes) {
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
            default:
                break;
        }
}

}  // namespace hpo::packed

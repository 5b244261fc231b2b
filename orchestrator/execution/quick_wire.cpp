#include "orchestrator/execution/quick_wire.hpp"

#include <charconv>

#include "hpo/wire.hpp"

namespace hpo::wire {
namespace {

/// Thrown, and caught within this file, when the line does not have the form that is read here.
struct AnotherForm {};

class Scanner {
   public:
    explicit Scanner(std::string_view text) : left_(text) {}

    [[nodiscard]] bool take(char expected) {
        skip_blanks();
        if (left_.empty() || left_.front() != expected) return false;
        left_.remove_prefix(1);
        return true;
    }
    void expect(char expected) {
        if (!take(expected)) throw AnotherForm();
    }
    [[nodiscard]] bool at_end() {
        skip_blanks();
        return left_.empty();
    }

    std::string_view text() {
        expect('"');
        std::size_t size = 0;
        while (size < left_.size() && left_[size] >= ' ' && left_[size] <= '~' && left_[size] != '"' &&
               left_[size] != '\\')
            ++size;
        const std::string_view found = left_.substr(0, size);
        left_.remove_prefix(size);
        if (left_.empty() || left_.front() != '"') throw AnotherForm();
        left_.remove_prefix(1);
        return found;
    }

    double number() {
        skip_blanks();
        if (!left_.empty() && left_.front() == '"') {
            const std::string_view name = text();
            if (name == "nan") return std::numeric_limits<double>::quiet_NaN();
            if (name == "inf") return std::numeric_limits<double>::infinity();
            if (name == "-inf") return -std::numeric_limits<double>::infinity();
            throw AnotherForm();
        }
        bool whole = true;
        const std::size_t size = number_size(whole);
        const std::string_view digits = left_.substr(0, size);
        left_.remove_prefix(size);
        // JSON's whole numbers have no negative zero.
        if (whole && size < 18) return static_cast<double>(converted<std::int64_t>(digits));
        return converted<double>(digits);
    }

    std::int64_t integer() {
        const double found = number();
        if (!(std::abs(found) <= 0x1p53) || found != std::floor(found)) throw AnotherForm();
        return static_cast<std::int64_t>(found);
    }

   private:
    void skip_blanks() {
        while (!left_.empty() && (left_.front() == ' ' || left_.front() == '\t' || left_.front() == '\r'))
            left_.remove_prefix(1);
    }

    template <class Number>
    static Number converted(std::string_view digits) {
        Number number{};
        const char* end = digits.data() + digits.size();
        const auto [stopped, error] = std::from_chars(digits.data(), end, number);
        if (error != std::errc() || stopped != end) throw AnotherForm();
        return number;
    }

    /// Length of the number that follows, by JSON's grammar.
    std::size_t number_size(bool& whole) const {
        std::size_t at = 0;
        const auto next = [&] { return at < left_.size() ? left_[at] : '\0'; };
        const auto take_digits = [&] {
            const std::size_t begin = at;
            while (next() >= '0' && next() <= '9') ++at;
            if (at == begin) throw AnotherForm();
        };
        if (next() == '-') ++at;
        if (next() == '0')
            ++at;
        else
            take_digits();
        if (next() == '.') whole = false, ++at, take_digits();
        if (next() == 'e' || next() == 'E') {
            whole = false;
            ++at;
            if (next() == '+' || next() == '-') ++at;
            take_digits();
        }
        return at;
    }

    std::string_view left_;
};

Metrics metrics_of(Scanner& scanner) {
    Metrics metrics;
    scanner.expect('{');
    if (scanner.take('}')) return metrics;
    do {
        const std::string_view name = scanner.text();
        scanner.expect(':');
        metrics.insert_or_assign(std::string(name), scanner.number());
    } while (scanner.take(','));
    scanner.expect('}');
    return metrics;
}

bool take_telemetry(Report& report, std::string_view key, Scanner& scanner) {
    const auto take = [&](const auto& field) {
        if (key != field.first) return false;
        report.*(field.second) = scanner.number();
        return true;
    };
    if (std::apply([&](const auto&... field) { return (take(field) || ...); }, report_numbers)) return true;
    for (const auto& [name, member] : {std::pair{"iteration", &Report::iteration},
                                       {"micro_batch", &Report::micro_batch},
                                       {"peak_bytes", &Report::peak_bytes},
                                       {"peak_device_bytes", &Report::peak_device_bytes}})
        if (key == name) {
            report.*member = scanner.integer();
            return true;
        }
    return false;
}

from_worker::Reported report_of(Scanner scanner) {
    std::optional<std::int64_t> trial, attempt, step;
    std::optional<Metrics> metrics;
    bool is_report = false;
    Report report;
    scanner.expect('{');
    do {
        const std::string_view key = scanner.text();
        scanner.expect(':');
        if (key == "trial")
            trial = scanner.integer();
        else if (key == "attempt")
            attempt = scanner.integer();
        else if (key == "step")
            step = scanner.integer();
        else if (key == "metrics")
            metrics = metrics_of(scanner);
        else if (key == "warning")
            report.warning = scanner.text();
        else if (key == "type")
            is_report = scanner.text() == "report";
        else if (!take_telemetry(report, key, scanner))
            throw AnotherForm();
    } while (scanner.take(','));
    scanner.expect('}');
    if (!scanner.at_end() || !is_report || !trial || !attempt || !step || !metrics || *trial < 0 || *attempt < 0)
        throw AnotherForm();
    report.step = *step;
    report.metrics = *std::move(metrics);
    return {{*trial, *attempt}, std::move(report)};
}

}  // namespace

std::optional<from_worker::Reported> quick_report(std::string_view line) {
    if (line.find("\"report\"") == std::string_view::npos) return std::nullopt;
    try {
        return report_of(Scanner(line));
    } catch (const AnotherForm&) {
        return std::nullopt;
    }
}

std::string quick_encode(const to_worker::Decision& decision) {
    std::string line = "{\"action\":\"";
    line += action_names[static_cast<std::size_t>(decision.action)];
    line += "\",\"attempt\":";
    line += std::to_string(decision.id.attempt);
    line += ",\"step\":";
    line += std::to_string(decision.step);
    line += ",\"trial\":";
    line += std::to_string(decision.id.trial);
    return line += ",\"type\":\"decision\"}\n";
}

}  // namespace hpo::wire

// simdjson 3.0.1, that of Debian 12, is faster (on a busy machine 1.2 us a report of 370 bytes, this file 1.6 us), but
// its on-demand parser reads 0.1000000000000000055511151231257827 as 4.1e-16 (both measured on 2026-11-27).
#include "orchestrator/execution/quick_wire.hpp"

#include <utility>

#include "hpo/from_chars.hpp"
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
        const auto [stopped, error] = from_chars(digits.data(), end, number);
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

void read(Scanner& scanner, std::int64_t& into) { into = scanner.integer(); }
void read(Scanner& scanner, std::string& into) { into = scanner.text(); }
void read(Scanner& scanner, Metrics& into) { into = metrics_of(scanner); }
void read(Scanner& scanner, Maybe<double>& into) { into = scanner.number(); }
void read(Scanner& scanner, Maybe<std::int64_t>& into) { into = scanner.integer(); }

/// Reads the fields of reports (message_fields.hpp) and keeps track of those that must be there.
class ReportReader {
   public:
    void read_field(std::string_view key, Scanner& scanner) {
        bool known = false;
        visit_fields(report_, [&](const Field& field, auto& member) {
            if (known || key != field.key) return;
            known = true;
            read(scanner, member);
            seen_ |= 1U << field.number;
        });
        if (!known) throw AnotherForm();
    }
    [[nodiscard]] Report take() {
        visit_fields(report_, [&](const Field& field, const auto&) {
            if (field.presence == Presence::required && (seen_ >> field.number & 1U) == 0) throw AnotherForm();
        });
        return std::move(report_);
    }

   private:
    Report report_;
    std::uint32_t seen_ = 0;  ///< fields, a bit for the number of each
};

from_worker::Reported report_of(Scanner scanner) {
    std::optional<std::int64_t> trial, attempt;
    bool is_report = false;
    ReportReader reader;
    scanner.expect('{');
    do {
        const std::string_view key = scanner.text();
        scanner.expect(':');
        if (key == "trial")
            trial = scanner.integer();
        else if (key == "attempt")
            attempt = scanner.integer();
        else if (key == "type")
            is_report = scanner.text() == "report";
        else
            reader.read_field(key, scanner);
    } while (scanner.take(','));
    scanner.expect('}');
    if (!scanner.at_end() || !is_report || !trial || !attempt || *trial < 0 || *attempt < 0) throw AnotherForm();
    return {{*trial, *attempt}, reader.take()};
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

// Reads metrics from lines of output in the forms that scripts commonly print.
#include "orchestrator/script/syntax/json_metrics.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/plain_line.hpp"
#include "orchestrator/script/syntax/plain_text.hpp"
#include "orchestrator/script/syntax/quoted_code.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"
#include "orchestrator/script/syntax/tables.hpp"

namespace hpo::script {

namespace {

class OutputReader final : public LineReader {
   public:
    void read(string_view line, Reading& reading) override {
        const string text = plain_text(line);
        const auto prefix = rank_prefix(text);
        if (!prefix) return read_text(text, line, reading);
        read_text(text.substr(prefix->size), line, reading);
        if (prefix->rank > 0) label_all(reading, "rank" + std::to_string(prefix->rank) + "_");
    }

    string warning() override { return std::exchange(warning_, {}); }

   private:
    void read_text(const string& text, string_view line, Reading& reading) {
        const std::size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
        if (indent == text.size() || quoted_.takes(text)) return;
        if (!holds(indent, text)) heading_.clear();
        if (read_objects(text, reading)) return;
        if (tables_.read(text, reading)) return;
        const PlainLine found = read_plain_line(text, heading_, reading);
        if (found.heading && reading.metrics.empty()) {
            heading_ = found.label;
            heading_indent_ = indent;
            heading_has_colon_ = text[text.find_last_not_of(" \t{")] == ':';
        }
        if (!found.ambiguous.empty() && !warned_) warn(line, found.ambiguous);
    }

    /// Labels the values of a process of a distributed run, each of which reports its own. Values of the first process
    /// have no label.
    static void label_all(Reading& reading, const string& label) {
        for (const NamedNumber& metric : std::exchange(reading.metrics, {}))
            reading.add(is_general(metric.name) ? metric.name : label + metric.name, metric.number, metric.bare);
    }

    /// Returns true if the line still belongs to the last heading: deeper indented below one with a colon, until the
    /// next epoch below any other.
    [[nodiscard]] bool holds(std::size_t indent, const string& text) const {
        if (heading_.empty()) return true;
        if (heading_has_colon_ && indent <= heading_indent_) return false;
        const auto begins_with_epoch = [&](string_view word) { return text.compare(indent, word.size(), word) == 0; };
        return !begins_with_epoch("Epoch") && !begins_with_epoch("epoch") && !begins_with_epoch("EPOCH");
    }

    /// Reads each object in the line, and the text between them. Returns false if there is none.
    bool read_objects(string_view text, Reading& reading) {
        constexpr int max_attempts = 8;
        string_view rest = text;
        int failed = 0;
        for (auto open = text.find('{'); open != string_view::npos && failed < max_attempts;) {
            Reading object;
            const std::size_t size = add_json(rest.substr(open), object);
            if (object.metrics.empty()) {
                ++failed;
                open = rest.find('{', open + std::max<std::size_t>(size, 1));
                continue;
            }
            const PlainLine before = read_plain_line(rest.substr(0, open), heading_, reading);
            if (object.epoch) reading.epoch = object.epoch;
            for (const NamedNumber& metric : object.metrics) {
                const bool labelled =
                    !before.label.empty() && !is_general(metric.name) && phase_in(metric.name) == Phase::none;
                reading.add(labelled ? before.label + "_" + metric.name : metric.name, metric.number, metric.bare);
            }
            rest.remove_prefix(open + size);
            open = rest.find('{');
        }
        if (rest.size() == text.size()) return false;
        read_plain_line(rest, heading_, reading);
        return true;
    }

    void warn(string_view line, string_view number) {
        warned_ = true;
        warning_ =
            "'" + string(number) +
            "' is not read, since its comma may be decimal or of thousands: print a point, as in 0.25. The line: " +
            string(line.substr(0, max_quoted_bytes));
    }

    QuotedCode quoted_;
    Tables tables_;
    string heading_;  ///< the label that a line of its own gives to those that follow
    std::size_t heading_indent_ = 0;
    bool heading_has_colon_ = false;
    string warning_;
    bool warned_ = false;
};

}  // namespace

Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<string>& patterns) {
    if (patterns.empty()) return std::unique_ptr<LineReader>(std::make_unique<OutputReader>());
    return make_pattern_reader(patterns);
}

}  // namespace hpo::script

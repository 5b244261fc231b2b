// Reads metrics from lines of output in the forms that scripts commonly print.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "orchestrator/script/syntax/coco_summary.hpp"
#include "orchestrator/script/syntax/json_metrics.hpp"
#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/plain_line.hpp"
#include "orchestrator/script/syntax/plain_text.hpp"
#include "orchestrator/script/syntax/quoted_code.hpp"
#include "orchestrator/script/syntax/rank_prefix.hpp"
#include "orchestrator/script/syntax/table_cells.hpp"
#include "orchestrator/script/syntax/tables.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

class OutputReader final : public LineReader {
   public:
    explicit OutputReader(std::int64_t epochs) : averages_(epochs) {}

    void read(string_view line, Reading& reading) override {
        const string text = plain_text(line);
        note_record(string_view(text).substr(std::min(text.find_first_not_of(" \t"), text.size())));
        const auto prefix = rank_prefix(text);
        read_text(prefix ? text.substr(prefix->size) : text, reading);
        if (prefix && reading.metrics.empty()) return read_text(text, reading);
        if (prefix)
            label_all(reading, prefix->rank);
        else if (const auto rank = rank_in(reading))
            label_all(reading, *rank);
        if (record_.value_or(0) > 0) name_record(reading);
        if (trim(text).ends_with(']')) record_.reset();
    }

    string warning() override { return std::exchange(bar_warning_, {}); }

   private:
    /// Follows a list of objects over several lines, "[{'loss': 0.5}," above " {'loss': 0.4}]".
    void note_record(string_view text) {
        if (text == "[" || (text.starts_with("[{") && text.find("}]") == string_view::npos))
            record_ = text == "[" ? 0 : 1;
        else if (record_ && text.starts_with('{'))
            ++*record_;
        else if (record_ && (text.empty() || string_view("\"'}]").find(text.front()) == string_view::npos))
            record_.reset();
    }

    /// Tells apart the records of such a list, which are results of several trials or models, unless they count steps.
    void name_record(Reading& reading) const {
        const auto counts = [](const NamedNumber& one) { return is_counter(one.name); };
        const bool counted = reading.epoch || std::any_of(reading.metrics.begin(), reading.metrics.end(), counts);
        if (counted || reading.metrics.empty()) return;
        reading.row = "record " + std::to_string(*record_);
        reading.row_is_named = true;
    }

    void read_text(const string& text, Reading& reading) {
        const std::size_t indent = std::min(text.find_first_not_of(" \t"), text.size());
        const auto batches = std::exchange(batches_, {});
        if (indent == text.size() || quoted_.takes(text)) return;
        if (is_argument(text)) return;
        if (read_structure(text, reading)) return;
        read_signature(text, reading);
        read_field(text, reading);
        if (!holds(indent, text)) heading_.clear();
        heading_is_new_ = false;
        if (heading_.empty()) note_counter(indent, text);
        if (const string_view task = coco_task(text); !task.empty()) task_ = task;
        if (read_coco_summary(text, reading)) return label_coco_task(task_, reading);
        if (read_objects(text, reading)) return;
        if (tables_.read(text, reading)) return label_coco_task(task_, reading);
        if (begins_cross_validation(text)) heading_.clear();
        batches_ = batches;
        const PlainLine found = read_plain(text, reading);
        const auto counts = [](const NamedNumber& one) { return is_counter(one.name); };
        if (std::all_of(reading.metrics.begin(), reading.metrics.end(), counts)) {
            // "STEP: 10/21 -- GLOBAL_STEP: 10" above the losses of this batch, each with its average
            batches_.reset();
            if (!batches && !reading.metrics.empty()) batches_ = found.batches;
        }
        if (found.heading && reading.metrics.empty()) {
            heading_ = found.label;
            heading_is_new_ = text.ends_with("...");
            heading_indent_ = indent;
            heading_has_colon_ = text[text.find_last_not_of(" \t{")] == ':';
        }
        if (!found.ambiguous.empty()) note_ambiguous(text, found.ambiguous, reading);
    }

    /// Reads the metric of a line whose name has its settings behind it, without blanks: "BLEU|nrefs:1|case:mixed
    /// = 20.3 53.1/26.1".
    static void read_signature(const string& text, Reading& reading) {
        constexpr string_view equals = " = ";
        const auto end = text.find(equals);
        if (end == string::npos || text.find(' ') != end) return;
        const string_view name = string_view(text).substr(0, std::min(text.find_first_of("|+"), end));
        const bool settings = text.find_first_of(":.", name.size()) < end && name.size() < end;
        const auto number = leading_number(string_view(text).substr(end + equals.size()));
        if (settings && number && is_metric_name(name)) reading.add(name, number->first);
    }

    /// Reads a line of R's str(): " $ eval_loss : num 0.0956". Returns false for any other line. Of several numbers
    /// none is read.
    static bool read_structure(const string& text, Reading& reading) {
        const string_view line = trim(text);
        const auto colon = line.find(':');
        if (!line.starts_with("$ ") || colon == string_view::npos) return false;
        const string_view name = trim(line.substr(2, colon - 2)), value = trim(line.substr(colon + 1));
        const auto blank = value.find(' ');
        if (!is_type(value.substr(0, blank)) || blank == string_view::npos) return false;
        const string_view printed = trim(value.substr(blank));
        const auto number = leading_number(printed);
        if (number && number->second == printed.size())
            reading.add(name, number->first);
        else if (number)
            reading.unread.emplace_back(name);
        return true;
    }

    /// Reads the metric that two lines of an object in JSON name and hold: "name": "BLEU" and "score": 20.3.
    void read_field(const string& text, Reading& reading) {
        const auto begin = text.find_first_not_of(" \t"), end = text.find("\": ");
        if (text[begin] != '"' || end == string::npos) return json_name_.clear();
        const string_view key = string_view(text).substr(begin + 1, end - begin - 1);
        string_view value = string_view(text).substr(end + 3);
        if (value.ends_with(',')) value.remove_suffix(1);
        const auto number = leading_number(value);
        if (key == "name" || key == "metric")
            json_name_ = is_metric_name(trim(value)) ? string(trim(value)) : "";
        else if ((key == "score" || key == "value") && number && number->second == value.size() && !json_name_.empty())
            reading.add(std::exchange(json_name_, {}), number->first);
    }

    /// Returns the rank that the line itself gives beside other numbers, as in "rank=1 loss=0.5".
    static std::optional<std::int64_t> rank_in(const Reading& reading) {
        constexpr double most = 1e6;
        if (reading.metrics.size() < 2) return {};
        for (const NamedNumber& metric : reading.metrics)
            if (is_rank_key(metric.name) && metric.number >= 0 && metric.number < most &&
                metric.number == std::floor(metric.number))
                return static_cast<std::int64_t>(metric.number);
        return {};
    }

    /// Labels the values of a process of a distributed run, each of which reports its own. Values of the first process
    /// have no label. Counters, times and rates of the others are left out.
    static void label_all(Reading& reading, std::int64_t rank) {
        if (rank == 0) return;
        for (const NamedNumber& metric : std::exchange(reading.metrics, {}))
            if (!is_general(metric.name) && !is_rank_key(metric.name))
                reading.add(rank_label(rank) + metric.name, metric.number, metric.bare);
    }

    /// Returns true if the line still belongs to the last heading: deeper indented below one with a colon, until the
    /// next epoch below any other.
    [[nodiscard]] bool holds(std::size_t indent, const string& text) const {
        if (heading_.empty()) return true;
        if (heading_has_colon_ && indent <= heading_indent_) return false;
        const auto begins_with_epoch = [&](string_view word) { return text.compare(indent, word.size(), word) == 0; };
        if (begins_with_epoch("Epoch") || begins_with_epoch("epoch") || begins_with_epoch("EPOCH")) return false;
        if (counter_.empty() || first_word(text, indent) != counter_) return true;
        return heading_is_new_ && total_of(text) != total_;  // "Eval begin..." above a bar of fewer batches
    }

    /// Returns true for a line of the arguments that Megatron shows with dots, below "---- arguments ----".
    bool is_argument(const string& text) {
        const bool framed = text.starts_with("---") && text.find("--", text.find_first_not_of('-')) != string::npos;
        if (framed && text.find("arguments ") != string::npos)
            arguments_ = text.find("end of") == string::npos;
        else
            arguments_ = arguments_ && text.find("...") != string::npos;
        return arguments_;
    }

    /// Returns true for "=== Stratified cross-validation ===" and "** Reported on cross-validation data. **", which
    /// Weka and H2O print after the results of training data.
    static bool begins_cross_validation(const string& text) {
        return (text.starts_with("=== ") || text.starts_with("** ")) && text.find("cross-validation") != string::npos;
    }

    static string_view first_word(const string& text, std::size_t indent) {
        std::size_t end = indent;
        while (end < text.size() && is_letter(text[end])) ++end;
        return string_view(text).substr(indent, end - indent);
    }

    /// Remembers the counter with which lines begin outside of headings, as in "iter 100 loss 0.5": the next such line
    /// ends a heading.
    void note_counter(std::size_t indent, const string& text) {
        if (const string_view word = first_word(text, indent); is_counter(word)) {
            counter_ = string(word);
            total_ = total_of(text);
        }
    }

    /// Returns the total of the first ratio: 938 of "step 10/938 - loss: 0.5". Returns 0 if there is none.
    static std::int64_t total_of(const string& text) {
        std::size_t sign = text.find('/');
        if (sign == string::npos || sign == 0 || !is_digit(text[sign - 1])) return 0;
        const std::size_t begin = text.find_last_not_of("0123456789", sign - 1) + 1;
        while (sign + 1 < text.size() && is_digit(text[sign + 1])) ++sign;
        const auto ratio = ratio_of(string_view(text).substr(begin, sign + 1 - begin));
        return ratio ? ratio->second : 0;
    }

    /// Reads each object in the line, and the text between them. Returns false if there is none. The objects of a list
    /// with the same metrics, as in "[{'epoch': 1, 'loss': 0.5}, {'epoch': 2, 'loss': 0.4}]", are a history, which is
    /// no report.
    bool read_objects(string_view text, Reading& reading) {
        constexpr int max_attempts = 8;
        string_view rest = text;
        int failed = 0;
        bool several = false;
        const auto begin = std::min(text.find('{'), text.size());
        const bool list = trim(text.substr(0, begin)).ends_with('[');
        for (auto open = text.find('{'); open != string_view::npos && failed < max_attempts;) {
            Reading object;
            const std::size_t size = add_json(rest.substr(open), object);
            if (reading.too_long.empty()) reading.too_long = object.too_long;
            if (object.metrics.empty()) {
                ++failed;
                open = rest.find('{', open + std::max<std::size_t>(size, 1));
                continue;
            }
            const PlainLine before = read_plain(rest.substr(0, open), reading);
            if (object.epoch) reading.epoch = object.epoch;
            const string& label = object.split.empty() ? before.label : object.split;
            for (const NamedNumber& metric : object.metrics) {
                const bool labelled =
                    !label.empty() && !is_general(metric.name) && phase_in(metric.name) == Phase::none;
                const string name = labelled ? label + "_" + metric.name : metric.name;
                NamedNumber* const earlier = is_general(name) ? nullptr : reading.find(name_of(name));
                several = several || earlier != nullptr;
                if (earlier != nullptr && earlier->number != metric.number) earlier->doubt = Doubt::several_times;
                reading.add(name, metric.number, metric.bare);
            }
            rest.remove_prefix(open + size);
            open = rest.find('{');
        }
        if (rest.size() == text.size()) return false;
        read_plain(rest, reading);
        if (list && several) {
            for (const NamedNumber& metric : std::exchange(reading.metrics, {})) reading.listed.push_back(metric.name);
            reading.epoch.reset();
        }
        return true;
    }

    PlainLine read_plain(string_view text, Reading& reading) {
        PlainLine found = read_plain_line(text, {.label = heading_, .batches = batches_}, averages_, reading);
        named_epoch_ = named_epoch_ || reading.epoch.has_value();
        reading.counts_epochs = reading.progress && is_bar_of_epochs(text);
        if (reading.progress && reading.progress->first < reading.progress->second && has_unfinished_bar(text))
            take_unfinished_bar(text, reading);
        return found;
    }

    /// Takes a bar for the progress of an epoch unless it counts the epochs of the trial, as Redraws does.
    void take_unfinished_bar(string_view text, Reading& reading) {
        const bool may_count_epochs = !named_epoch_ && reading.progress->second > 1;
        if (may_count_epochs && reading.progress->second == averages_.epochs()) return;
        reading.running = true;
        if (!may_count_epochs || averages_.epochs() != 0 || reading.metrics.empty() ||
            std::exchange(warned_of_bar_, true))
            return;
        bar_warning_ =
            "the bars of its output are taken for the progress of a step, whose values count at its end: if "
            "they count epochs, state their number in budget.epochs. The line: " +
            string(trim(text).substr(0, max_quoted_bytes));
    }

    /// Returns true for a bar of tqdm with the rate of epochs: "1/3 [00:01<00:02, 1.0s/epoch, loss=0.5]".
    static bool is_bar_of_epochs(string_view text) {
        const auto rate = std::min(text.find("s/epoch"), text.find("epoch/s"));
        if (rate == string_view::npos) return false;
        const auto open = text.rfind('[', rate);
        return open != string_view::npos && text.substr(open, rate - open).find('<') != string_view::npos;
    }

    /// Returns true for "[=====>....]", which some programs print on further lines and not over each other.
    static bool has_unfinished_bar(string_view text) {
        for (auto open = text.find('['); open != string_view::npos; open = text.find('[', open + 1)) {
            const auto head = std::min(text.find_first_not_of('=', open + 1), text.size());
            if (!text.substr(head).starts_with('>')) continue;
            const auto end = text.find_first_not_of('.', head + 1);
            if (end != string_view::npos && text[end] == ']' && end - open > 5) return true;
        }
        return false;
    }

    static void note_ambiguous(string_view text, string_view number, Reading& reading) {
        const string_view before = text.substr(0, static_cast<std::size_t>(number.data() - text.data()));
        const auto end = before.find_last_not_of(" \t:=$") + 1;
        const auto begin = before.find_last_of(" \t:=|,;([{", end == 0 ? 0 : end - 1) + 1;
        reading.ambiguous = string(number);
        reading.name_of_ambiguous = string(before.substr(std::min(begin, end), end - std::min(begin, end)));
    }

    QuotedCode quoted_;
    Tables tables_;
    Averages averages_;
    std::optional<int> record_;  ///< the number of a record in a list of several lines
    string task_;                ///< of COCO, that a line has named: segm
    string json_name_;           ///< of a metric, that a line of an object in JSON has given
    string heading_;             ///< the label that a line of its own gives to those that follow
    std::size_t heading_indent_ = 0;
    bool heading_has_colon_ = false;
    bool heading_is_new_ = false;  ///< true for the first line below one that announces what follows
    std::int64_t total_ = 0;       ///< of the last line that began with the counter
    bool arguments_ = false;       ///< true while the lines show arguments
    string counter_;               ///< the word with which lines outside of headings have begun
    bool named_epoch_ = false;     ///< true once a line has named its epoch by a word; bars then count something else
    std::optional<std::pair<std::int64_t, std::int64_t>> batches_;  ///< that a line of counters alone has told
    string bar_warning_;
    bool warned_of_bar_ = false;
};

}  // namespace

Result<std::unique_ptr<LineReader>> make_output_reader(const std::vector<string>& patterns, std::int64_t epochs) {
    if (patterns.empty()) return std::unique_ptr<LineReader>(std::make_unique<OutputReader>(epochs));
    return make_pattern_reader(patterns);
}

}  // namespace hpo::script

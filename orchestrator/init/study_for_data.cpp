#include "orchestrator/init/study_for_data.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "hpo/batch_size.hpp"
#include "hpo/from_chars.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/init/targets.hpp"
#include "orchestrator/study/entries.hpp"

namespace hpo::init {

namespace {

using Lines = std::vector<std::string>;

constexpr std::int64_t few_rows = 2000;        // fewer rows are validated in folds
constexpr std::int64_t updates_wanted = 3000;  // in a trial
constexpr double telling = 0.95;               // area under the ROC curve of one column
constexpr double rare = 0.2;                   // share of the rarest of two classes: accuracy says little
constexpr std::int64_t least_rows_to_search = 50;
constexpr std::int64_t rounds_wanted = 300;  // of boosted trees in a trial

/// A line of columns with one title, such as "numbers  width, height (3 missing)".
class Listed {
   public:
    explicit Listed(std::string title) : title_(std::move(title)) {}
    void add(const ColumnFacts& column, const std::string& remark = "") {
        if (count_++ >= shown_names) return;
        std::string remarks = remark;
        if (column.missing > 0) remarks += (remarks.empty() ? "" : ", ") + std::to_string(column.missing) + " missing";
        text_ += (text_.empty() ? "" : ", ") + printable(column.name) + (remarks.empty() ? "" : " (" + remarks + ")");
    }
    void into(Lines& lines) const {
        if (count_ == 0) return;
        const std::string more = count_ > shown_names ? ", and " + std::to_string(count_ - shown_names) + " more" : "";
        lines.push_back(title_ + std::string(title_.size() < 10 ? 10 - title_.size() : 1, ' ') + text_ + more);
    }

   private:
    std::string title_, text_;
    std::size_t count_ = 0;
};

bool is_number(const std::string& text) {
    double number = 0;
    const auto read = from_chars(text.data(), text.data() + text.size(), number);
    return read.ec == std::errc{} && read.ptr == text.data() + text.size();
}

/// Returns why a column cannot be a feature; empty if it can.
std::string reason_to_leave_out(const ColumnFacts& column, std::int64_t rows) {
    if (column.kind == "dates") return "dates";
    if (column.kind == "unreadable") return "of a type that is not read";
    if (column.kind == "empty" || column.distinct <= 1) return "the same in all rows";
    if (column.kind == "index") return "";  // the worker leaves it out
    if (column.kind == "formatted") return "numbers as people write them, such as " + printable(column.example);
    if (column.counts_up) return "counts the rows";
    const bool all_differ = column.distinct >= std::min(rows - column.missing, most_names + 1);
    if ((column.kind == "text" || column.kind == "mixed") &&
        (column.distinct > most_names || (all_differ && rows > 20)))
        return "names the rows";
    return {};
}

/// The roles of a table's columns.
struct Roles {
    Lines found, warnings;
    std::vector<std::string> ignored, categorical;
    std::size_t features = 0, categories = 0;
    std::string dates = {};  ///< "begin, end": columns of dates
};

Roles roles_of(const DataFacts& facts, bool as_series) {
    Roles roles;
    Listed numbers("numbers"), texts("texts"), left_out("left out");
    std::string& dates = roles.dates;
    for (const ColumnFacts& column : facts.columns) {
        if (facts.is_target(column) || column.kind == "index") continue;
        std::string reason = reason_to_leave_out(column, facts.rows);
        if (reason.empty() && as_series && column.kind != "number") reason = "no numbers, which a series needs";
        if (!reason.empty()) {
            roles.ignored.push_back(column.name);
            left_out.add(column, reason);
            if (reason == "dates") dates += (dates.empty() ? "" : ", ") + printable(column.name);
            continue;
        }
        ++roles.features;
        const std::string values = column.distinct > most_names ? "" : counted(column.distinct, "value");
        if (column.kind == "number") {
            numbers.add(column);
        } else {
            ++roles.categories;
            texts.add(column, column.kind == "mixed" ? values + ", numbers among them" : values);
            if (column.kind == "mixed") roles.categorical.push_back(column.name);
        }
        const bool all_differ = column.whole && column.kind == "number" && facts.rows > 20 &&
                                column.distinct >= std::min(facts.rows - column.missing, most_names + 1);
        if (all_differ && !as_series)
            roles.warnings.push_back(printable(column.name) +
                                     " has another whole number in each row: if it identifies rows, add it to ignore");
        if (column.auc && *column.auc > telling) {
            char area[16];
            std::snprintf(area, sizeof area, "%.3f", *column.auc);
            roles.warnings.push_back(printable(column.name) +
                                     " alone tells the two classes apart (area under its ROC "
                                     "curve " +
                                     area + "): if it is known only after the target, add it to ignore");
        }
    }
    if (!dates.empty() && !as_series)
        roles.warnings.push_back("dates are left out (" + dates +
                                 "): to use them, add columns of numbers: year, month, day of the week, day number");
    numbers.into(roles.found);
    texts.into(roles.found);
    left_out.into(roles.found);
    return roles;
}

std::string quoted(const std::string& text) { return study::yaml_text(text); }

std::string list_of(const Lines& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : ", ") + quoted(name);
    return '[' + text + ']';
}

/// The parts of a study that follow from the number of training samples.
struct Size {
    std::int64_t training = 0;
    [[nodiscard]] std::int64_t batch() const { return auto_batch_size(training); }
    [[nodiscard]] std::int64_t epochs(std::int64_t most) const {
        const std::int64_t updates = std::max<std::int64_t>(1, training / batch());
        return std::clamp<std::int64_t>((updates_wanted + updates - 1) / updates, 15, most);
    }
    /// Empty: the default is the only one that leaves enough updates.
    [[nodiscard]] std::string batch_line() const {
        const std::int64_t high = std::min<std::int64_t>(
            8 * batch(), static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(training / 20))));
        if (high < 2 * batch()) return "";
        return "  batch_size:        {type: int, low: " + std::to_string(batch()) + ", high: " + std::to_string(high) +
               ", log: true}   # samples of an update\n";
    }
    [[nodiscard]] int rank() const { return training < 1000 ? 0 : training < 20'000 ? 1 : 2; }
};

std::string parameter(const std::string& name, const std::string& range) {
    return "  " + name + ':' + std::string(name.size() < 18 ? 18 - name.size() : 1, ' ') + range + '\n';
}

/// Makes the parameters of a space, one a line, exist only where `type` has this value.
std::string only_where(const std::string& type, const std::string& lines) {
    std::string text;
    for (const char c : lines) {
        if (c == '}') text += ", when: {type: [" + type + "]}";
        text += c;
    }
    return text;
}

std::string tree_lines() {
    return parameter("eta", "{type: float, low: 0.02, high: 0.3, log: true}   # learning rate of boosting") +
           parameter("max_depth", "{type: int, low: 2, high: 8}") +
           parameter("min_child_weight", "{type: float, low: 0.5, high: 20, log: true}   # of a leaf") +
           parameter("subsample", "{type: float, low: 0.5, high: 1.0}   # of the rows of a tree") +
           parameter("colsample_bytree", "{type: float, low: 0.4, high: 1.0}   # of the features of a tree") +
           parameter("reg_lambda", "{type: float, low: 0.1, high: 10, log: true}");
}

std::string optimizer_lines() {
    return parameter("lr", "{type: float, low: 3.0e-4, high: 3.0e-2, log: true}   # learning rate") +
           parameter("weight_decay", "{type: float, low: 1.0e-4, high: 3.0e-1, log: true}");
}

std::string perceptron_lines(const Size& size) {
    constexpr std::pair<int, int> widths[] = {{16, 128}, {32, 256}, {64, 512}};
    const auto [low, high] = widths[size.rank()];
    return parameter("width",
                     "{type: int, low: " + std::to_string(low) + ", high: " + std::to_string(high) + ", log: true}") +
           parameter("depth", "{type: int, low: 1, high: 3}   # hidden layers") +
           parameter("dropout", "{type: float, low: 0.0, high: 0.5}") +
           parameter("activation", "{type: categorical, choices: [relu, gelu, silu]}");
}

std::string budget_line(std::int64_t trials, std::int64_t epochs) {
    return "budget: {trials: " + std::to_string(trials) + ", epochs: " + std::to_string(epochs) +
           "}   # more: hpo run FILE --trials N\n";
}

struct Parts {
    std::string objective, space, worker, budget;
};

FirstStudy assembled(const DataFacts& facts, const std::string& headline, Lines found, Lines warnings,
                     const Parts& parts) {
    FirstStudy first;
    found.insert(found.begin(), headline);
    Lines comment = found;
    comment.front() = "Written by hpo init. " + headline;
    for (const std::string& warning : warnings) comment.push_back("warning: " + warning);
    first.text = comments(comment) + "study: " + study_name(facts.path) + "\n\nobjective: " + parts.objective +
                 "\n\nspace:   # varied by the search\n" + parts.space + "\nworker:   # fixed\n" + parts.worker + '\n' +
                 parts.budget;
    first.found = std::move(found);
    first.warnings = std::move(warnings);
    return first;
}

std::string objective_for(const Targets& targets, bool uneven, std::int64_t rows) {
    switch (targets.task) {
        case Task::labels: {
            const std::int64_t few = targets.uneven_labels(rows, rare);
            return "{metric: val_loss, direction: minimize}   # cross-entropy of all labels" +
                   (few == 0 ? ""
                             : "; " + std::to_string(few) + " of " + std::to_string(targets.columns.size()) +
                                   (few == 1 ? " is" : " are") + " uneven, so accuracy says little");
        }
        case Task::classification:
            return uneven ? "{metric: val_auc, direction: maximize}   # one class is rare, so accuracy says little"
                          : "{metric: val_accuracy, direction: maximize}";
        case Task::regression:
            break;
    }
    return "{metric: val_r2, direction: maximize}   # share of the variance that is explained";
}

Result<FirstStudy> study_for_table(const DataFacts& facts, bool as_series) {
    if (facts.rows < 3)
        return Error{facts.path + ": has " + counted(facts.rows, "row") +
                     ": at least 3 are needed, to train, to validate and to test"};
    const auto found_targets = targets_of(facts, as_series);
    if (!found_targets) return found_targets.error();
    const Targets& targets = *found_targets;

    Roles roles = roles_of(facts, as_series);
    if (roles.features == 0 && !as_series)
        return Error{facts.path + ": no column but the target" +
                     (targets.several() ? "s is left to predict them from" : " is left to predict it from") +
                     (roles.found.empty() ? "" : "; " + roles.found.back()) +
                     (roles.dates.empty() ? "" : "; rows in the order of time are a series: --format series")};
    if (facts.rows < least_rows_to_search)
        roles.warnings.push_back(counted(facts.rows, "row") +
                                 " are too few: a search will find configurations that are good by chance");
    if (std::all_of(facts.columns.begin(), facts.columns.end(),
                    [](const ColumnFacts& column) { return is_number(column.name); }))
        roles.warnings.push_back("the names of all columns are numbers: a first row without names is no header");
    const double rarest = targets.rarest(facts.rows);
    const bool uneven = targets.task == Task::classification && targets.columns.front()->distinct == 2 && rarest < rare;
    // Each fold needs some rows of each class.
    const bool folds = !as_series && facts.rows < few_rows && facts.rows >= least_rows_to_search &&
                       rarest * static_cast<double>(facts.rows) >= 15;
    const Size size{static_cast<std::int64_t>(static_cast<double>(facts.rows) * 0.9 * (folds ? 0.8 : 0.9))};

    roles.found.insert(roles.found.begin(), target_line(facts, targets));
    const std::int64_t epochs = size.epochs(150);
    Parts parts;
    parts.objective = objective_for(targets, uneven, facts.rows);
    parts.space = size.batch_line() + optimizer_lines() + perceptron_lines(size);
    if (roles.categories > 0)
        parts.space +=
            parameter("embedding_width", "{type: categorical, choices: [0, 50]}   # texts as learned vectors");
    const bool trees = facts.trees && !as_series;
    if (trees)
        parts.space =
            parameter("type", "{type: categorical, choices: [trees, mlp]}   # boosted trees or a perceptron") +
            only_where("trees", tree_lines()) + only_where("mlp", parts.space);
    else if (!as_series)
        roles.warnings.push_back(
            "boosted trees, often the best for tables, are left out: they need XGBoost (apt install "
            "libxgboost0, then hpo init again)");
    std::string data = "format: " + std::string(as_series ? "series" : facts.format) + ", path: " + quoted(facts.path) +
                       ", target: " + (targets.several() ? list_of(facts.targets) : quoted(facts.targets.front()));
    if (!roles.ignored.empty()) data += ", ignore: " + list_of(roles.ignored);
    if (!roles.categorical.empty()) data += ", categorical: " + list_of(roles.categorical);
    if (as_series)
        data += ", window: " + std::to_string(std::clamp<std::int64_t>(facts.rows / 40, 2, 48)) + ", horizon: 1";
    if (folds) data += ", validation: {folds: 5}";
    constexpr std::array tasks{"classification", "regression", "multi-label"};
    parts.worker = (as_series ? "" : std::string("  task: ") + tasks[static_cast<std::size_t>(targets.task)] + '\n') +
                   "  data: {" + data + "}\n  model: {" +
                   (trees ? "rounds: " + std::to_string(std::max<std::int64_t>(1, rounds_wanted / epochs)) + ", "
                          : std::string("type: mlp, ")) +
                   "norm: layer}\n" + "  training: {optimizer: adamw, schedule: one-cycle, clip: 1.0" +
                   (uneven || targets.task == Task::labels ? ", class_metrics: true" : "") + "}\n";
    parts.budget = budget_line(40, epochs);
    return assembled(facts,
                     facts.path + ": " + counted(facts.rows, "row") + ", " +
                         counted(static_cast<std::int64_t>(facts.columns.size()), "column"),
                     roles.found, roles.warnings, parts);
}

FirstStudy study_for_samples(const DataFacts& facts) {
    const bool text = facts.format == "text";
    const Size size{static_cast<std::int64_t>(static_cast<double>(facts.rows) * (facts.test > 0 ? 0.9 : 0.81))};
    Lines found{"samples   " + counted(facts.rows, "sample") +
                (facts.test > 0 ? ", and " + std::to_string(facts.test) + " to test" : "") + ": " + facts.sample};
    if (!text)
        found.push_back("target    " + (facts.classes ? std::to_string(facts.outputs) + " classes"
                                                      : counted(facts.outputs, "number")));
    Parts parts;
    parts.objective = text            ? "{metric: val_loss, direction: minimize}   # nats per byte"
                      : facts.classes ? "{metric: val_accuracy, direction: maximize}"
                                      : "{metric: val_r2, direction: maximize}";
    parts.space = size.batch_line() + optimizer_lines();
    std::string model, data = "format: " + facts.format + ", path: " + quoted(facts.path);
    if (!facts.inputs.empty()) data += ", inputs: " + quoted(facts.inputs);
    if (!facts.targets.empty()) data += ", labels: " + quoted(facts.targets.front());
    if (text) {
        data += ", window: 64, stride: 16";
        model = "{type: transformer, heads: 4}";
        parts.space += parameter("depth", "{type: int, low: 1, high: 3}") +
                       parameter("width", "{type: int, low: 64, high: 128, step: 32}") +
                       parameter("dropout", "{type: float, low: 0.0, high: 0.4}");
    } else if (facts.image) {
        model = "{type: cnn, stages: 2, blocks: 1, groups: 8}";
        parts.space += parameter("channels", "{type: int, low: 16, high: 32, step: 8}") +
                       parameter("dropout", "{type: float, low: 0.0, high: 0.3}") +
                       parameter("label_smoothing", "{type: float, low: 0.0, high: 0.1}");
    } else {
        model = "{type: mlp, norm: layer}";
        parts.space += perceptron_lines(size);
    }
    parts.worker = "  data: {" + data + "}\n  model: " + model +
                   "\n  training: {optimizer: adamw, schedule: one-cycle, clip: 1.0}\n";
    parts.budget = budget_line(text || facts.image ? 20 : 40, size.epochs(text || facts.image ? 30 : 100));
    return assembled(facts, facts.path + ": " + facts.sample, found, {}, parts);
}

}  // namespace

std::string comments(const Lines& lines) {
    std::string text;
    for (const std::string& line : lines) text += "# " + printable_line(line) + '\n';
    return text;
}

std::string study_name(const std::string& path) {
    std::filesystem::path last = std::filesystem::path(path).lexically_normal();
    if (!last.has_filename()) last = last.parent_path();
    std::string name = last.filename().string();
    name = name.substr(0, name.find('.', 1));
    for (char& c : name) {
        const bool kept =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
        if (!kept) c = '-';
    }
    name.erase(0, name.find_first_not_of('-'));
    return name.empty() ? "study" : name.substr(0, 60);
}

Result<FirstStudy> study_for_data(const DataFacts& facts, bool as_series) {
    if (facts.columns.empty()) return study_for_samples(facts);
    return study_for_table(facts, as_series);
}

}  // namespace hpo::init

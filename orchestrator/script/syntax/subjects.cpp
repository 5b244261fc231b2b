#include "orchestrator/script/syntax/subjects.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/numbers.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr const char* heading_key = "heading";
constexpr const char* words_key = "words";
constexpr const char* row_key = "row";
constexpr const char* counted_row_key = "row of a number";  ///< which may count steps under any name
constexpr const char* sample_key = "sample";
constexpr const char* file_key = "file";
constexpr const char* label_key = "label";
constexpr const char* record_key = "record";  ///< of the data, as a sentence
constexpr const char* text_key = "text";      ///< in a heading, that the lines below are of
constexpr const char* fold_key = "fold";
constexpr const char* process_key = "pid";
constexpr std::size_t max_heading_words = 5;

constexpr const char* training_key = "~training";  ///< sorted behind the others, which tell more

struct Repetition {
    string_view one;
    const char* several;
    bool averaged = true;  ///< their mean is a result
};
/// Words whose number tells results apart that are not steps of one training.
constexpr Repetition repetitions[] = {{"fold", "folds"},
                                      {"seed", "seeds"},
                                      {"run", "runs"},
                                      {"task", "tasks"},
                                      {"class", "classes"},
                                      {"threshold", "thresholds"},
                                      {"repeat", "repeats"},
                                      {process_key, "processes", false},
                                      {"trial", "trials", false},
                                      {"configuration", "configurations", false}};
/// Words whose number counts rounds, in each of which a script may train from its first epoch on.
constexpr string_view outer_counters[] = {"round", "episode", "cycle", "generation"};
/// Fields whose text names a model or data.
constexpr string_view fields[] = {
    "model",     "dataset",  "classifier", "estimator",   "regressor", "algorithm",    "learner",      "method",
    "optimizer", "task",     "kernel",     "activation",  "backbone",  "encoder",      "architecture", "arch",
    "network",   "solver",   "scheduler",  "initializer", "criterion", "augmentation", "experiment",   "scenario",
    "variant",   "strategy", "penalty",    "environment", "features"};
/// Words whose number tells apart parts of the data or of a comparison, and never how far a training is.
constexpr string_view parts[] = {"experiment", "split",   "scenario", "variant", "case",
                                 "subject",    "patient", "session",  "site",    "group"};
/// Words whose number in front of a result counts something else, or is a result as well.
constexpr string_view other_counts[] = {
    "gpu",     "rank", "worker", "node", "process",  "thread", "device",  "cuda",    "core",  "level",
    "version", "v",    "line",   "top",  "patience", "count",  "counter", "correct", "wrong", "total",
    "size",    "seen", "tp",     "fp",   "tn",       "fn",     "f",       "r",       "p"};
/// The last words of the names of settings.
constexpr string_view settings[] = {
    "lr",    "c",     "k",       "alpha",    "gamma",      "lambda",    "sigma",      "eps",    "epsilon",
    "noise", "decay", "dropout", "momentum", "size",       "dim",       "hidden",     "units",  "layers",
    "depth", "width", "degree",  "leaves",   "estimators", "neighbors", "components", "kernel", "temperature"};
/// Words of values that a training lowers or raises. A word with a number before them counts its progress.
constexpr string_view trained_values[] = {"loss", "reward", "return", "cost", "fitness", "energy"};
constexpr std::size_t max_keys = 16;  ///< of a subject
/// The beginnings of words that tell how far a program is. They stand in lines that head nothing.
constexpr string_view status_stems[] = {
    "start",   "begin",   "end",     "done",       "finish", "complet", "sav",    "load",    "improv", "creat",
    "resum",   "restor",  "evaluat", "process",    "prepar", "init",    "epoch",  "step",    "iter",   "batch",
    "best",    "warn",    "error",   "checkpoint", "result", "metric",  "report", "summar",  "config", "final",
    "total",   "overall", "curren",  "new",        "no",     "not",     "early",  "stop",    "reduc",  "decay",
    "converg", "updat",   "elaps",   "time",       "averag", "mean",    "ok",     "success", "scor",   "perform",
    "stat",    "log",     "all",     "wait",       "run",    "writ",    "us",     "learn",   "param",  "hyper",
    "loss",    "accura",  "confus",  "class"};

bool contains(std::span<const string_view> words, string_view word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

bool is_status(const string& small) {
    return phase_of(small) != Phase::none || is_counter(small) ||
           std::any_of(std::begin(status_stems), std::end(status_stems), [&](string_view stem) {
               if (stem.size() < 3) return small == stem;
               return small.starts_with(stem) && (stem.size() > 3 || small.size() <= stem.size() + 3);
           });
}

std::vector<string_view> words_in(string_view text) {
    std::vector<string_view> words;
    for (std::size_t at = 0; (at = text.find_first_not_of(" \t", at)) != string_view::npos;) {
        const auto end = std::min(text.find_first_of(" \t", at), text.size());
        words.push_back(text.substr(at, end - at));
        at = end;
    }
    return words;
}

/// Returns true for 5-way and 2-layer.
bool counts_with_word(string_view word) {
    const auto sign = std::min(word.find_first_not_of("0123456789"), word.size());
    return sign > 0 && sign + 1 < word.size() && word[sign] == '-' && is_letter(word[sign + 1]) &&
           !is_unit(word.substr(sign + 1));
}

/// Returns the text if it is a name of a few words that begin with letters or are 5-way and the like, and tells nothing
/// about progress.
string name_of_subject(string_view text) {
    constexpr string_view inner_signs = "-_/.+()&";
    const auto words = words_in(text);
    if (words.empty() || words.size() > max_heading_words) return {};
    for (const string_view word : words) {
        const bool plain = std::all_of(word.begin(), word.end(), [&](char c) {
            return is_letter(c) || is_digit(c) || inner_signs.find(c) != string_view::npos;
        });
        const bool begins = is_letter(word.front()) || word.front() == '(' || counts_with_word(word);
        if (!begins || !plain || word.ends_with('.') || is_status(lower_case(word))) return {};
    }
    return string(text);
}

/// Removes the signs around a heading: "=== SVC ===", "# SVC", "[SVC]", "SVC:". `framed` is set if there were any.
string_view without_frame(string_view line, bool& framed) {
    const auto strip = [&](string_view frame) {
        while (!line.empty() && frame.find(line.front()) != string_view::npos) line.remove_prefix(1), framed = true;
        while (!line.empty() && frame.find(line.back()) != string_view::npos) line.remove_suffix(1), framed = true;
        line = trim(line);
    };
    line = trim(line);
    if (line.ends_with('{')) line.remove_suffix(1);  // "svc": {
    strip("=-*#~+<>");
    if (line.starts_with('[') && line.ends_with(']')) strip("[]");
    strip(":");
    return line;
}

/// Returns SVC for "SVC..." and "SVC", and Logistic Regression for "with Logistic Regression took 12.5 ms".
string class_name(string_view rest) {
    while (rest.ends_with('.') || rest.ends_with(' ') || rest.ends_with('\r')) rest.remove_suffix(1);
    const auto is_class = [](string_view word) {
        return word[0] >= 'A' && word[0] <= 'Z' &&
               std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || is_digit(c); });
    };
    auto words = words_in(rest);
    const bool with = words.size() > 1 && (words[0] == "with" || words[0] == "using");
    if (with) words.erase(words.begin());
    string name;
    std::size_t end = 0;
    for (; end < words.size() && is_class(words[end]); ++end) name += (end == 0 ? "" : " ") + string(words[end]);
    const bool whole = end == words.size() && (with || end == 1);
    return whole || (end > 0 && end < words.size() && words[end] == "took") ? name : string{};
}

/// Returns CatBoost for "Fitting model: CatBoost ...": the model that is fitted, trained or evaluated from here on.
/// Returns an empty text for any other line.
string model_in(string_view line, string_view small) {
    constexpr string_view actions[] = {"fitting", "training", "evaluating", "testing", "tuning"};
    constexpr string_view word = "model";
    for (const string_view action : actions) {
        auto at = small.find(action);
        if (at == 0 && small.substr(action.size()).starts_with(' '))
            if (string name = class_name(line.substr(action.size() + 1)); !name.empty()) return name;
        if (at == string_view::npos || (at > 0 && is_letter(small[at - 1]))) continue;
        at += action.size();
        if (!small.substr(at).starts_with(' ') || !small.substr(at + 1).starts_with(word)) continue;
        std::size_t begin = at + 1 + word.size();
        if (begin >= small.size() || (small[begin] != ':' && small[begin] != ' ')) continue;
        begin = small.find_first_not_of(" :", begin);
        if (begin == string_view::npos || !is_letter(small[begin])) continue;
        const string_view name = line.substr(begin, line.find_first_of(" \t,;", begin) - begin);
        const bool path = name.find('/') != string_view::npos || name.find('.') != string_view::npos;
        if (!path && small[begin - 2] == ':') return string(name);  // "Training model on ..." names none
    }
    return {};
}

/// Returns true for learning_rate, max_depth and "Batch size".
bool names_setting(string_view name) {
    const string small = lower_case(name);
    return small.ends_with("learning_rate") || contains(settings, small.substr(small.find_last_of("_-. ") + 1));
}

/// Returns the number behind the word that ends at `at`, as in "Fold 1/5", "fold=1" and "Fold #1:".
string number_behind(string_view small, std::size_t at) {
    const auto begin = std::min(small.find_first_not_of(" #:=_-[\"'", at), small.size());
    const auto number = number_at_begin(small.substr(begin));
    if (!number || !is_digit(small[begin])) return {};
    string_view digits = small.substr(begin, number->second), rest = small.substr(begin + number->second);
    if (digits.ends_with('.')) digits.remove_suffix(1);
    return rest.empty() || !is_letter(rest[0]) ? string(digits) : string{};
}

struct Count {
    string_view word;
    string text;          ///< with its number
    std::size_t end = 0;  ///< behind the number
    bool apart = false;   ///< true if blanks alone are between them
};

/// Returns the setting that begins a line with a whole number: "horizon 1: rmse 0.5", "max_depth=3, accuracy=0.9".
/// Counters, times and results are none.
std::optional<Count> leading_count(string_view small) {
    std::size_t end = 0;
    while (end < small.size() && is_letter(small[end])) ++end;
    const string_view word = small.substr(0, end);
    const auto begin = std::min(small.find_first_not_of(" :=#", end), small.size());
    const auto number = number_at_begin(small.substr(begin));
    const bool setting = names_setting(word);
    if (word.empty() || !number || !is_digit(small[begin]) || (is_progress(word) && !setting) ||
        contains_metric_word(word) || phase_of(word) != Phase::none || contains(other_counts, word))
        return {};
    string_view digits = small.substr(begin, number->second);
    if (digits.ends_with('.')) digits.remove_suffix(1);
    const bool fraction = digits.find_first_not_of("0123456789") != string_view::npos;
    if (fraction && !setting) return {};
    const string_view rest = small.substr(begin + digits.size());
    const auto next = rest.find_first_not_of(' ');
    const bool goes_on =
        !rest.empty() && (is_letter(rest[0]) || is_digit(rest[0]) || rest[0] == '-' || rest[0] == '%' ||
                          rest[0] == ',' || (rest[0] == ':' && rest.size() > 1 && is_digit(rest[1])));
    const bool comma = rest.starts_with(", ");  // "max_depth=3, accuracy=0.9"
    if ((goes_on && !comma) || (next != string_view::npos && is_digit(rest[next]))) return {};
    return Count{word, string(word) + ' ' + string(digits), begin + digits.size(),
                 small.substr(end, begin - end).find_first_of(":=#") == string_view::npos};
}

/// Returns the setting in several words that begins a line with a number and a colon: "noise level 0.1: accuracy 0.9".
std::optional<Count> leading_words(string_view small) {
    constexpr std::size_t most_words = 3;
    std::size_t end = 0;
    for (std::size_t words = 0; words < most_words; ++words) {
        const std::size_t begin = end;
        while (end < small.size() && is_letter(small[end])) ++end;
        const string_view word = small.substr(begin, end - begin);
        if (word.empty() || is_progress(word) || contains_metric_word(word) || phase_of(word) != Phase::none ||
            (words == 0 && contains(other_counts, word)) || end >= small.size() || small[end] != ' ')
            return {};
        end = std::min(small.find_first_not_of(' ', end), small.size());
        const auto number = number_at_begin(small.substr(end));
        if (!number || !is_digit(small[end])) continue;
        const std::size_t behind = end + number->second;
        if (words == 0 || !small.substr(behind).starts_with(": ")) return {};
        const string_view name = trim(small.substr(0, end));
        return Count{name, string(small.substr(0, behind)), behind, false};
    }
    return {};
}

/// Returns what tells the folds of scikit-learn's searches apart: the number of "[CV 2/5] END ... score=0.9", and the
/// whole of a line without one.
string validated_fold(string_view small) {
    constexpr string_view begin = "[cv";
    const bool begins = small.starts_with(begin) && small.size() > begin.size();
    if (!begins || (small[begin.size()] != ']' && small[begin.size()] != ' ')) return {};
    const string number = number_behind(small, begin.size());
    return number.empty() ? string(small.substr(begin.size() + 1, max_quoted_bytes)) : number;
}

/// Sets the repetitions that a line names.
void note_repetitions(string_view small, Subject& subject) {
    for (const auto& [word, several, averaged] : repetitions)
        for (auto at = small.find(word); at != string_view::npos; at = small.find(word, at + 1)) {
            if (at > 0 && is_letter(small[at - 1])) continue;  // manifold
            const string number = number_behind(small, at + word.size());
            if (number.empty()) continue;
            subject[string(word)] = number;
            break;
        }
    if (string fold = validated_fold(small); !fold.empty()) subject[fold_key] = std::move(fold);
}

/// Returns a field that names a model or data and fills the line, with its text: "Dataset: iris".
std::pair<string, string> field_in(string_view line, string_view small) {
    const auto sign = line.find_first_of(":=");
    if (sign == string_view::npos || !contains(fields, trim(small.substr(0, sign)))) return {};
    const string_view text = trim(line.substr(sign + 1));
    if (words_in(text).size() > max_heading_words || text.empty() || !is_letter(text[0])) return {};
    return {string(trim(small.substr(0, sign))), string(text)};
}

/// Returns the text of a line of words that name a model or data, and their number: "Model with rank: 1", or of a word
/// with a number of whatever it is: "for #2".
string numbered_field(string_view small) {
    auto words = words_in(small);
    if (words.size() == 2 && words[1].size() > 1 && words[1][0] == '#' && !is_status(string(words[0])) &&
        !is_progress(words[0]) && std::all_of(words[0].begin(), words[0].end(), is_letter) &&
        words[1].find_first_not_of("0123456789", 1) == string_view::npos)
        return string(small);
    if (words.size() < 3 || words.size() > max_heading_words || !contains(fields, words[0])) return {};
    const auto is_plain = [](string_view word) {
        while (word.ends_with(':') || word.ends_with('#')) word.remove_suffix(1);
        return std::all_of(word.begin(), word.end(), is_letter) && !is_progress(word) && !contains_metric_word(word);
    };
    const bool plain = std::all_of(words.begin(), words.end() - 1, is_plain);
    return plain && words.back().find_first_not_of("0123456789") == string_view::npos ? string(small) : string{};
}

/// Returns the words behind the last number of a line, which tell of what it is: "accuracy: 0.9 [SVC]". Returns nothing
/// for those of its state and for units.
string words_behind(string_view line) {
    if (const auto open = line.find('{'); line.ends_with('}') && open != string_view::npos && open > 0)
        return contains_metric_word(line.substr(open)) ? string{} : string(line.substr(open));  // "0.9 {'C': 1}"
    auto words = words_in(line);
    std::size_t begin = words.size();
    const auto has_digit = [](string_view word) { return std::any_of(word.begin(), word.end(), is_digit); };
    const auto is_path = [](string_view word) { return std::count(word.begin(), word.end(), '/') > 1; };
    while (begin > 0 && (!has_digit(words[begin - 1]) || is_path(words[begin - 1]))) --begin;
    string behind;
    for (; begin < words.size(); ++begin) {
        string_view word = words[begin];
        constexpr string_view around = "()[]{}<>,;:|*\"'";
        while (!word.empty() && around.find(word.front()) != string_view::npos) word.remove_prefix(1);
        while (!word.empty() && around.find(word.back()) != string_view::npos) word.remove_suffix(1);
        if (word.empty() || is_unit(word)) continue;
        const string small = lower_case(word);
        if (!is_letter(word.front()) || is_status(small) || small.find("checkpoint") != string::npos) return {};
        behind += (behind.empty() ? "" : " ") + string(word);
    }
    return behind;
}

/// Returns the file in front of a line, which it tells of: "INFO:root:exp/mono/scoring/14.txt: wer 28.7". Returns
/// nothing for the source of a logger: "src/models/train.py:12: loss 0.5".
string file_in_front(string_view line) {
    const auto words = words_in(line);
    if (words.empty() || !words[0].ends_with(':')) return {};
    string_view file = words[0].substr(0, words[0].size() - 1);
    file.remove_prefix(file.find_last_of(':') + 1);
    constexpr string_view sources[] = {".py", ".cc", ".cpp", ".cu", ".h", ".jl", ".rs", ".go", ".java", ".scala", ".R"};
    const bool source =
        std::any_of(std::begin(sources), std::end(sources), [&](string_view suffix) { return file.ends_with(suffix); });
    return std::count(file.begin(), file.end(), '/') > 1 && !source ? string(file) : string{};
}

/// Returns the record of the data in front of a line, which it tells of: "1089-134686-0001, %WER 25.00". Returns
/// nothing for a number and a date.
string record_in_front(string_view line) {
    constexpr std::size_t least = 4, least_signs = 1;
    const auto comma = line.find(", ");
    if (comma == string_view::npos || comma < least) return {};
    const string_view word = line.substr(0, comma);
    const auto is_sign = [](char c) { return c == '-' || c == '_'; };
    const bool plain =
        std::all_of(word.begin(), word.end(), [&](char c) { return is_letter(c) || is_digit(c) || is_sign(c); });
    const bool has_digit = std::any_of(word.begin(), word.end(), is_digit);
    const auto signs = std::count_if(word.begin(), word.end(), is_sign);
    const bool date = word.size() == string_view("2024-01-31").size() && signs == 2 && is_sign(word[4]);
    return plain && has_digit && signs >= static_cast<std::ptrdiff_t>(least_signs) && !date ? string(word) : string{};
}

/// Returns the text that a framed heading quotes behind a word: "=== REF: a sentence of some words".
string quoted_in_heading(string_view inner) {
    constexpr std::size_t least_words = 4;  // of the heading, with the first one
    const auto words = words_in(inner);
    const bool quotes = words.size() >= least_words && words[0].ends_with(':');
    if (!quotes || is_status(lower_case(words[0].substr(0, words[0].size() - 1)))) return {};
    const bool digits = std::any_of(inner.begin(), inner.end(), is_digit);
    return digits ? string{} : string(inner.substr(0, max_quoted_bytes));
}

/// Returns the label in front of the first name of a line, which tells of what it is: "B: Precision: 0.5, F1: 0.1".
/// Returns nothing for phases, levels of logs and words of progress.
string label_in_front(string_view line) {
    const auto colon = line.find(": ");
    if (colon == string_view::npos || colon == 0) return {};
    const string_view label = line.substr(0, colon), rest = line.substr(colon + 2);
    const auto name = std::min(rest.find_first_of(":=0123456789"), rest.size());
    const bool names = name > 0 && name < rest.size() && !is_digit(rest[name]) && is_letter(rest[0]);
    const bool word =
        std::all_of(label.begin(), label.end(), [](char c) { return is_letter(c) || c == '_' || c == '-'; });
    const string small = lower_case(label);
    const bool tells = names && word && !is_status(small) && !is_log_level(label) && !contains_metric_word(small);
    return tells ? string(label) : string{};
}

/// Returns true for an object or a call on a line of its own: "{'C': 10}", "Namespace(C=10)".
bool is_object(string_view line) {
    line = trim(line);
    std::size_t name = 0;
    while (name < line.size() && (is_letter(line[name]) || line[name] == '.')) ++name;
    return (line.starts_with('{') && line.ends_with('}')) ||
           (name > 0 && line.substr(name).starts_with('(') && line.ends_with(')'));
}

/// Returns true for an object of settings on a line of its own: "{'C': 10, 'gamma': 0.1}".
bool is_settings(string_view line, const Reading& reading) {
    return is_object(line) && !reading.metrics.empty() &&
           std::none_of(reading.metrics.begin(), reading.metrics.end(), [](const NamedNumber& one) {
               return (is_progress(one.name) && !names_setting(one.name)) || contains_metric_word(one.name);
           });
}

}  // namespace

bool shows_settings(string_view line, const Reading& reading) {
    if (!is_object(line)) return false;
    std::ptrdiff_t settings_of_all = 0;
    for (const NamedNumber& one : reading.metrics) {
        if (contains_metric_word(one.name)) return false;
        if (!is_counter(one.name)) settings_of_all += names_setting(one.name) ? 1 : -1;
    }
    return !reading.metrics.empty() && settings_of_all >= 0;
}

bool has_settings_alone(const Reading& reading) {
    const auto is_setting = [](const NamedNumber& one) { return names_setting(one.name); };
    return !reading.metrics.empty() && !reading.epoch && !reading.progress &&
           std::all_of(reading.metrics.begin(), reading.metrics.end(), is_setting);
}

void Subjects::take(string_view line, const Reading& reading, bool reports) {
    const string small = lower_case(line);
    note_repetitions(small, subject_);
    note_epoch(small, reading, reports);
    if (!is_object(line)) note_settings(reading);
    const string bare = std::exchange(bare_, {});
    bool framed = false;
    const string_view inner = without_frame(small, framed);
    const auto count = leading_count(inner);
    if (count && (count->apart || contains(parts, count->word)) && count->end == inner.size()) {  // "Experiment 1 ***"
        if (subject_.size() < max_keys) subject_[string(count->word)] = count->text;
        return;
    }
    if (!reports && is_settings(line, reading)) {
        subject_[heading_key] = string(trim(line).substr(0, max_quoted_bytes));
        return;
    }
    if (string model = model_in(line, small); !model.empty()) {
        subject_[heading_key] = std::move(model);
    } else if (string numbered = numbered_field(inner); !numbered.empty()) {
        subject_[heading_key] = std::move(numbered);
    } else if (const auto [field, text] = field_in(line, small); !text.empty()) {
        if (subject_.size() < max_keys) subject_["field " + field] = text;
    } else if (!reading.metrics.empty()) {
        if (!bare.empty()) subject_[heading_key] = bare;
    } else if (line.find_first_not_of("-=~* \t\r") == string_view::npos && !bare.empty()) {
        if (line.find_first_of("-=~*") != string_view::npos) bare_ = bare;  // an underline
    } else if (!reading.epoch && !reading.progress) {
        take_heading(line);
    }
}

/// Follows the epochs, of which a new training begins again with the first one.
void Subjects::note_epoch(string_view small, const Reading& reading, bool reports) {
    for (const string_view word : outer_counters)
        for (auto at = small.find(word); at != string_view::npos; at = small.find(word, at + 1)) {
            const string number =
                at > 0 && is_letter(small[at - 1]) ? string{} : number_behind(small, at + word.size());
            if (!number.empty()) round_ = number_at_begin(number)->first;
        }
    if (!reading.epoch || std::isnan(*reading.epoch)) return note_iteration(small, reading, reports);
    const bool with_total = reading.progress.has_value();
    if (!epochs_ || epochs_->of_iterations) {
        epochs_ = Epochs{*reading.epoch, *reading.epoch, round_, with_total};
        subject_[training_key] = std::to_string(trainings_);
    }
    if (with_total != epochs_->with_total) return;  // "Epoch 00000: val_loss improved" below "Epoch 1/20"
    if (*reading.epoch == epochs_->first && epochs_->last > epochs_->first) {
        if (round_ == epochs_->round) subject_[training_key] = std::to_string(++trainings_);
        epochs_->round = round_;
    }
    epochs_->last = *reading.epoch;
}

/// Follows the iterations of boosting, "[100] valid_0's rmse: 0.5", and the episodes and rounds of lines that report
/// the objective, where no line names an epoch.
void Subjects::note_iteration(string_view small, const Reading& reading, bool reports) {
    if (reading.metrics.empty()) return;
    string counter, digits;
    if (small.starts_with('[')) {
        const auto number = number_at_begin(small.substr(1));
        const bool counts = number && is_digit(small[1]) && small.substr(1 + number->second).starts_with("]\t");
        if (counts) digits = string(small.substr(1, number->second));
    } else if (reports) {
        const string_view begin = trim(small);
        std::size_t end = 0;
        while (end < begin.size() && is_letter(begin[end])) ++end;
        counter = string(begin.substr(0, end));
        if (contains(outer_counters, counter)) digits = number_behind(begin, end);
    }
    const auto number = number_at_begin(digits);
    if (!number || (epochs_ && (!epochs_->of_iterations || epochs_->counter != counter))) return;
    const double iteration = number->first;
    if (!epochs_) {
        epochs_ = Epochs{iteration, iteration, round_, false, true, counter};
        subject_[training_key] = std::to_string(trainings_);
    }
    if (iteration <= epochs_->first && epochs_->last > epochs_->first)
        subject_[training_key] = std::to_string(++trainings_);
    epochs_->last = iteration;
}

/// Notes the settings that a line shows without a result: "lr = 0.1, batch size = 32".
void Subjects::note_settings(const Reading& reading) {
    const auto is_setting = [](const NamedNumber& one) { return names_setting(one.name); };
    if (reading.epoch || reading.progress ||
        std::any_of(reading.metrics.begin(), reading.metrics.end(), [&](auto& one) {
            return (is_progress(one.name) && !is_setting(one)) || contains_metric_word(one.name);
        }))
        return;
    char buffer[32];
    for (const NamedNumber& one : reading.metrics)
        if (is_setting(one) && (subject_.size() < max_keys || subject_.contains(one.name)))
            subject_[one.name] =
                one.name + ' ' + string(buffer, std::snprintf(buffer, sizeof buffer, "%.6g", one.number));
}

void Subjects::take_heading(string_view line) {
    bool framed = false;
    const string_view inner = without_frame(line, framed);
    if (inner.empty()) return;
    string name = name_of_subject(inner);
    if (string text = framed ? quoted_in_heading(inner) : string{}; !text.empty())
        subject_[text_key] = std::move(text);
    else if (framed)
        subject_[heading_key] = std::move(name);
    else
        bare_ = std::move(name);
}

Subject Subjects::of(const Reading& reading, string_view metric) const {
    Subject all = subject_;
    const string small = lower_case(trim(reading.text));
    const string name = lower_case(metric);
    const bool trained = std::any_of(std::begin(trained_values), std::end(trained_values),
                                     [&](string_view word) { return name.find(word) != string::npos; });
    const auto count = leading_count(small);
    if (count && !(trained && count->apart && !contains(parts, count->word))) all[string(count->word)] = count->text;
    if (const auto setting = leading_words(small)) all[string(setting->word)] = setting->text;
    std::erase_if(all, [&](const auto& one) {  // "hits 5" is the result hits@10 in short
        const bool begins = name.starts_with(lower_case(one.first));
        return begins && (name.size() == one.first.size() || !is_letter(name[one.first.size()]));
    });
    if (!reading.sample.empty()) all[sample_key] = reading.sample;
    if (string record = record_in_front(reading.text); !record.empty()) all[record_key] = std::move(record);
    if (string label = label_in_front(reading.text); !label.empty()) all[label_key] = std::move(label);
    if (string file = file_in_front(reading.text); !file.empty()) all[file_key] = std::move(file);
    if (!reading.row.empty()) {
        all[reading.row_is_named ? row_key : counted_row_key] = reading.row;
        all.erase(process_key);  // a column
    } else
        all[words_key] = words_behind(reading.text);
    const bool average = is_average(metric);  // over folds and the like
    std::erase_if(all, [&](const auto& one) { return one.second.empty() || (average && is_repetition(one.first)); });
    return all;
}

string difference_of(const string& key, const string& first, const string& other) {
    for (const auto& [word, several, averaged] : repetitions)
        if (key == word) return string("of several ") + several;
    if (key == text_key) return "of several texts";
    if (key == record_key) return "of several records of the data";
    if (key == training_key) return "of several trainings, each of which begins with its first epoch or iteration";
    return "of several models, data or settings ('" + first + "' and '" + other + "')";
}

bool is_repetition(const string& key) {
    return key == text_key || std::any_of(std::begin(repetitions), std::end(repetitions),
                                          [&](const auto& one) { return key == one.one && one.averaged; });
}

bool is_part_of_result(const string& key) {
    constexpr string_view parts_of_result[] = {fold_key, "seed", "repeat", row_key, record_key, text_key};
    return contains(parts_of_result, key);
}

Subject repetitions_in(string_view line) {
    Subject found;
    note_repetitions(lower_case(line), found);
    return found;
}

bool tells_trainings_apart(const string& key) {
    return key == training_key || key == process_key || (is_repetition(key) && key != text_key);
}

}  // namespace hpo::script

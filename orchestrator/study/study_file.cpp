#include "orchestrator/study/study_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "hpo/open_trials.hpp"
#include "orchestrator/study/overrides.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo {

namespace {

using namespace study;
using std::string;
using std::string_view;

constexpr double max_steps = Budget::most_epochs;
constexpr double max_repeats = 100;

bool is_word(string_view text, string_view extra) {
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [&](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               extra.find(c) != string_view::npos;
    });
}

template <class T, class U>
void assign(T& into, const std::optional<U>& value) {
    if (value) into = *value;
}

/// Reads the sections one by one into a study. It is complete if no problem was reported.
class StudyReader {
   public:
    StudyReader(Diagnostics& diagnostics, const Vocabulary& vocabulary)
        : diagnostics_(diagnostics), vocabulary_(vocabulary) {}

    Study read(const Node& root) {
        Fields file(diagnostics_, &root, "");
        if (file.node() == nullptr) return {};
        const Node* name = file.take("study");
        if (name) read_name(*name);
        if (const Node* node = file.take("seed")) assign(study_.seed, whole(diagnostics_, *node, "seed", 0, max_whole));
        const Node* repeats = file.take("repeats");
        if (repeats) assign(study_.repeats, whole(diagnostics_, *repeats, "repeats", 1, max_repeats));
        const Node* objective = file.take("objective");
        const Node* constraints = file.take("constraints");
        const Node* space = file.take("space");
        const Node* where = file.take("where");
        const Node* worker = file.take("worker");
        const Node* budget = file.take("budget");
        const Node* start = file.take("start");
        const Node* warm_start = file.take("warm_start");
        const Node* sampler = file.take("sampler");
        const Node* stopping = file.take("stopping");
        const Node* policy = file.take("policy");
        const Node* resources = file.take("resources");
        const Node* keep = file.take("keep");
        file.finish();
        if (!name) file.missing("study", "a name such as phase1");

        const ReadWorker fixed = worker == nullptr ? ReadWorker() : read_worker(diagnostics_, worker);
        const ReadSpace varied = read_space(diagnostics_, space, fixed.native(), fixed.params);
        if (fixed.known) study_.objective = read_objective(diagnostics_, objective, constraints, fixed);
        read_budget(budget);
        if (fixed.known) study_.where = read_where(diagnostics_, where, varied, fixed.params);
        if (fixed.known) study_.start = read_start(diagnostics_, start, varied, study_.where, fixed.params);
        study_.warm_start_auto = warm_start && warm_start->kind == Node::Kind::scalar && warm_start->text == "auto";
        if (!study_.warm_start_auto) study_.warm_start = read_warm_start(diagnostics_, warm_start, study_.name);
        read_sampler(sampler);
        read_stopping(stopping, budget, fixed);
        read_policy(policy);
        study_.resources = read_resources(diagnostics_, resources, fixed.native());
        if (fixed.known && std::holds_alternative<NoWorker>(fixed.worker) && study_.resources.trial.processes > 1)
            diagnostics_.error(resources->location,
                               "'resources.trial.processes' needs 'worker.command', the program that hpo starts in "
                               "several processes: without a worker (hpo ask-tell) remove it");
        study_.keep = read_keep(diagnostics_, keep, fixed.native());
        if (fixed.known) check_together(diagnostics_, varied, fixed, study_.policy, study_.resources, resources);
        study_.space = varied.space;
        study_.worker = fixed.worker;
        study_.fixed = fixed.params;
        if (stopping) check_within(*stopping);
        if (repeats && study_.repeats > 1) check_repeats(*repeats);
        const bool states_steps = budget && find(*budget, "epochs") != nullptr;
        const ScriptWorker* script = study_.script();
        if (!states_steps && script && script->metrics && !plans_steps(*script) && !rules_plan_steps())
            study_.budget.open = true, study_.budget.epochs = Budget::most_epochs;
        return std::move(study_);
    }

   private:
    void check_repeats(const Node& node) {
        const bool searched = std::any_of(study_.space.begin(), study_.space.end(),
                                          [](const Dimension& dimension) { return dimension.name == "seed"; });
        if (searched || study_.fixed.contains("seed"))
            diagnostics_.error(node.location, string("'repeats' trains a configuration with several seeds, but ") +
                                                  (searched ? "'space' varies" : "'worker' sets") +
                                                  " 'seed': leave one of the two out");
        if (!study_.objective.further.empty())
            diagnostics_.error(
                node.location,
                "'repeats' gives further seeds to the best configurations by one objective, and this study "
                "has " +
                    std::to_string(1 + study_.objective.further.size()) + ": leave 'repeats' out");
    }

    void read_name(const Node& node) {
        const auto name = text(diagnostics_, node, "study");
        if (!name) return;
        if (is_word(*name, "._-") && (*name)[0] != '.' && (*name)[0] != '-')
            study_.name = *name;
        else
            diagnostics_.error(node.location,
                               "'study' must be 1 to 64 letters, digits, '.', '_' or '-', no '.' or '-' first, found " +
                                   printable(*name));
    }

    void read_budget(const Node* node) {
        Fields fields(diagnostics_, node, "budget");
        Budget& budget = study_.budget;
        if (const Node* n = fields.take("trials"))
            assign(budget.trials, whole(diagnostics_, *n, "budget.trials", 1, most_trials));
        else if (node != nullptr && find(*node, "time") != nullptr)
            budget.trials = most_trials;
        if (const Node* n = fields.take("epochs"))
            assign(budget.epochs, whole(diagnostics_, *n, "budget.epochs", 1, max_steps));
        if (const Node* n = fields.take("time"))
            assign(budget.seconds, duration(diagnostics_, *n, "budget.time", 1, max_seconds));
        if (const Node* n = fields.take("patience"))
            assign(budget.patience, whole(diagnostics_, *n, "budget.patience", 1, max_steps));
        fields.finish();
    }

    void read_policy(const Node* node) {
        Fields fields(diagnostics_, node, "policy");
        if (const Node* n = fields.take("min_batch_size"))
            if (n->kind != Node::Kind::scalar || n->text != "auto")
                assign(study_.policy.min_batch_size, whole(diagnostics_, *n, "policy.min_batch_size", 1, max_steps));
        if (const Node* n = fields.take("regularization"))
            if (const auto index = word(diagnostics_, *n, "policy.regularization", {"scaled", "off"}))
                study_.policy.scaled = *index == 0;
        fields.finish();
    }

    void read_sampler(const Node* node) {
        if (node == nullptr) return;
        const bool bare = node->kind == Node::Kind::scalar && is_word(node->text, "_-");
        if (bare && !vocabulary_.samplers.empty() && !knows(vocabulary_.samplers, node->text))
            return diagnostics_.error(node->location,
                                      "unknown sampler '" + node->text + "'" +
                                          suggested_part(node->text, "sampler", vocabulary_.samplers, true));
        Fields fields(diagnostics_, node, "sampler", "type: " + (bare ? node->text : "auto"));
        const Node* type = fields.require("type", "the sampler's name, such as auto");
        if (type != nullptr) study_.sampler = read_part(*node, *type, "type", "sampler", vocabulary_.samplers);
    }

    /// Returns the rules of `stopping: auto`. A script's loss may grow while training succeeds, as in reinforcement and
    /// adversarial learning, so that `divergence` is for the native worker.
    [[nodiscard]] std::vector<PartSpec> chosen_rules(bool native) const {
        std::vector<PartSpec> rules;
        if (native) rules.push_back({"divergence", {}});
        // The order of predicted curves is not defined where trials are judged by several objectives.
        if (study_.objective.further.empty()) rules.push_back({"extrapolation", {}});
        return rules;
    }

    /// Returns true if `auto` is the default. Few trials or steps leave nothing to learn from curves, a grid is
    /// searched to have the values of all its points, and only the study file can say how long a script trains.
    [[nodiscard]] bool stops_by_default(const Node* budget, bool native) const {
        constexpr std::int64_t fewest_trials = 32, fewest_steps = 6;
        return study_.budget.trials >= fewest_trials && study_.budget.epochs >= fewest_steps &&
               study_.sampler.type != "grid" && (native || (budget && find(*budget, "epochs") != nullptr));
    }

    void read_stopping(const Node* node, const Node* budget, const ReadWorker& worker) {
        if (node == nullptr) {
            study_.default_stopping.emplace();
            if (worker.known && stops_by_default(budget, worker.native()))
                study_.default_stopping = chosen_rules(worker.native());
            return;
        }
        if (node->kind == Node::Kind::null) return;
        if (node->kind == Node::Kind::scalar && node->text == "auto") {
            study_.stopping = chosen_rules(worker.native());
            return;
        }
        if (node->kind != Node::Kind::list)
            return diagnostics_.error(
                node->location,
                "'stopping' must be auto or a list of rules, such as [{rule: plateau}], or [] for none");
        for (const Node& item : node->items) {
            const bool bare = item.kind == Node::Kind::scalar && is_word(item.text, "_-");
            if (bare && !vocabulary_.rules.empty() && !knows(vocabulary_.rules, item.text)) {
                diagnostics_.error(item.location,
                                   "unknown stopping rule '" + item.text + "'" +
                                       suggested_part(item.text, "stopping rule", vocabulary_.rules, true));
                continue;
            }
            Fields fields(diagnostics_, &item, "stopping", "rule: " + (bare ? item.text : "plateau"));
            const Node* rule = fields.require("rule", "the rule's name, such as plateau");
            if (rule == nullptr) continue;
            PartSpec part = read_part(item, *rule, "rule", "stopping rule", vocabulary_.rules);
            const bool twice = std::any_of(study_.stopping.begin(), study_.stopping.end(),
                                           [&](const PartSpec& other) { return other.type == part.type; });
            if (twice)
                diagnostics_.error(rule->location, "the rule '" + part.type + "' is listed twice");
            else if (!part.type.empty())
                study_.stopping.push_back(std::move(part));
        }
    }

    /// Checks that rules compare trials within a categorical parameter of the space.
    void check_within(const Node& stopping) {
        string known;
        for (const Dimension& dimension : study_.space)
            if (dimension.kind == Kind::categorical) known += (known.empty() ? "" : ", ") + dimension.name;
        for (const Node& item : stopping.items) {
            const Node* within = find(item, "within");
            const bool fits = !within || std::any_of(study_.space.begin(), study_.space.end(), [&](const Dimension& d) {
                return d.kind == Kind::categorical && d.name == within->text;
            });
            if (!fits)
                diagnostics_.error(within->location, "'within' must name a categorical parameter of the space" +
                                                         (known.empty() ? ", which has none" : ": " + known));
        }
    }

    [[nodiscard]] bool rules_plan_steps() const {
        return std::any_of(study_.stopping.begin(), study_.stopping.end(), [&](const PartSpec& rule) {
            return std::any_of(vocabulary_.rules.begin(), vocabulary_.rules.end(),
                               [&](const PartOptions& row) { return row.name == rule.type && row.plans_steps; });
        });
    }

    static bool knows(std::span<const PartOptions> table, string_view name) {
        return std::any_of(table.begin(), table.end(), [&](const PartOptions& row) { return row.name == name; });
    }

    /// Suggests an existing name for an unknown sampler or rule. Other tools' names are recognised, also where their
    /// sampler is a stopping rule here. `bare` is true if the file has the name alone instead of a map.
    string suggested_part(string_view name, const string& kind, std::span<const PartOptions> table, bool bare) const {
        const auto names_of = [](std::span<const PartOptions> rows) {
            std::vector<string_view> names;
            for (const PartOptions& row : rows) names.push_back(row.name);
            return names;
        };
        const bool is_sampler = kind == "sampler";
        string lower(name);
        for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
        if (const auto here = meant_by(lower, names_of(table)); !here.empty() && bare)
            return is_sampler ? "; did you mean sampler: {type: " + string(here) + "}?"
                              : "; did you mean {rule: " + string(here) + "}?";
        if (!is_sampler && lower == "auto") return "; it is no rule but a set of them: stopping: auto";
        const auto& others = is_sampler ? vocabulary_.rules : vocabulary_.samplers;
        if (const auto there = meant_by(lower, names_of(others));
            !there.empty() && meant_by(lower, names_of(table)).empty())
            return is_sampler ? "; that is a stopping rule here: stopping: [{rule: " + string(there) + "}]"
                              : "; that is a sampler here: sampler: {type: " + string(there) + "}";
        return suggestion(lower, names_of(table));
    }

    /// Reads a sampler or a rule. The key `name_key` holds its name, all other keys are its options.
    PartSpec read_part(const Node& node, const Node& name_node, string_view name_key, const string& kind,
                       std::span<const PartOptions> table) {
        PartSpec part{"", {}};
        const auto name = text(diagnostics_, name_node, kind + "'s name");
        if (!name) return part;
        if (!is_word(*name, "_-")) {
            diagnostics_.error(name_node.location, "'" + printable(*name) + "' is not a valid name of a " + kind);
            return part;
        }
        part.type = *name;
        const auto row =
            std::find_if(table.begin(), table.end(), [&](const PartOptions& r) { return r.name == *name; });
        if (!table.empty() && row == table.end()) {
            diagnostics_.error(name_node.location,
                               "unknown " + kind + " '" + *name + "'" + suggested_part(*name, kind, table, false));
            part.type.clear();
            return part;
        }
        Fields fields(diagnostics_, &node, kind + " " + *name);
        fields.take(name_key);
        for (const Entry& entry : node.entries) {
            if (entry.key == name_key) continue;
            if (table.empty()) {
                if (auto value = natural_value(diagnostics_, entry.value, entry.key))
                    part.options.emplace(entry.key, std::move(*value));
            } else if (const Option* option = find_option(row->options, entry.key)) {
                if (auto value = option_value(diagnostics_, entry.value, *option))
                    part.options.emplace(entry.key, std::move(*value));
            }
        }
        if (table.empty()) return part;
        for (const Option& option : row->options) fields.take(option.name);
        fields.finish();
        return part;
    }

    Diagnostics& diagnostics_;
    const Vocabulary& vocabulary_;
    Study study_;
};

}  // namespace

namespace {

Result<Study> parse_with(Diagnostics& diagnostics, string_view text, std::span<const string> set,
                         const Vocabulary& vocabulary) {
    auto root = parse_yaml(text, 0, diagnostics);
    if (!root) return Error{diagnostics.text()};
    if (root->kind == Node::Kind::null) {
        diagnostics.error({},
                          "empty: a study file needs at least 'study', 'space' and 'worker' (none for hpo ask-tell)");
        return Error{diagnostics.text()};
    }
    for (const string& assignment : set) apply_override(diagnostics, *root, assignment);
    if (!diagnostics.ok()) return Error{diagnostics.text()};
    Study study = StudyReader(diagnostics, vocabulary).read(*root);
    if (!diagnostics.ok()) return Error{diagnostics.text()};
    study.source = set.empty() ? string(text) : write_study(study);
    return study;
}

string_view without_byte_order_mark(string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    return text;
}

}  // namespace

Result<Study> parse_study(string_view text, const string& file_name, std::span<const string> set,
                          const Vocabulary& vocabulary) {
    text = without_byte_order_mark(text);
    Diagnostics diagnostics(file_name, text);
    return parse_with(diagnostics, text, set, vocabulary);
}

Result<Study> parse_stored_study(string_view text, const string& file_name, const Vocabulary& vocabulary) {
    text = without_byte_order_mark(text);
    Diagnostics diagnostics(file_name, text);
    diagnostics.accept_earlier();
    return parse_with(diagnostics, text, {}, vocabulary);
}

string error_at(string_view text, const string& file_name, string_view key, const string& message) {
    Diagnostics diagnostics(file_name, text), ignored(file_name, text);
    const auto root = parse_yaml(text, 0, ignored);
    const Node* at = root ? &*root : nullptr;
    Location location;
    while (at && !key.empty()) {
        // A key may contain dots itself, such as a parameter's or a file's name.
        const string_view name = find(*at, key) ? key : key.substr(0, key.find('.'));
        key.remove_prefix(std::min(key.size(), name.size() + 1));
        at = find(*at, name);
        if (at) location = at->location;
    }
    diagnostics.error(location, message);
    return diagnostics.text();
}

/// Returns the content of a study file; a byte more than it may have if it is larger.
static Result<string> content_of(const std::filesystem::path& file) {
    std::error_code status;
    if (std::filesystem::is_directory(file, status)) return Error{file.string() + ": is a folder, not a study file"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (!stream) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    string text(max_bytes + 1, '\0');
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (stream.bad()) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
}

Result<Study> read_study(const std::filesystem::path& file, std::span<const string> set, const Vocabulary& vocabulary) {
    const auto text = content_of(file);
    if (!text) return text.error();
    auto study = parse_study(*text, file.string(), set, vocabulary);
    if (!study) return study;
    if (study->native()) resolve_data(*study, file);
    if (!study->script()) return study;
    if (auto resolved = resolve_folders(*study, *text, file); !resolved) return resolved.error();
    return study;
}

string value_warnings(const std::filesystem::path& file, std::span<const string> set) {
    const auto text = content_of(file);
    return text ? value_warnings(*text, file.string(), set) : string();
}

}  // namespace hpo

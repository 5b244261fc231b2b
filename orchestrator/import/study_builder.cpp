#include "orchestrator/import/study_builder.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>

#include "hpo/batch_size.hpp"
#include "orchestrator/script/syntax/template.hpp"
#include "orchestrator/study/entries.hpp"
#include "orchestrator/study/fields.hpp"
#include "orchestrator/study/sections.hpp"

namespace hpo::importing {

namespace {

constexpr std::size_t width = 116;

/// Makes a text printable and replaces line ends by blanks, so that it fits a comment.
std::string one_line(std::string_view text, std::size_t limit) {
    std::string line = study::printable(text, limit);
    for (char& c : line)
        if (c == '\n' || c == '\r' || c == '\t') c = ' ';
    return line;
}

/// Writes the text as comment lines of at most `width` characters. `hanging` precedes each line but the first.
void write_comment(std::string& out, std::string_view text, int indent, std::string_view hanging = "") {
    const std::string margin = std::string(static_cast<std::size_t>(indent), ' ') + "# ";
    std::string line = margin;
    const auto end_line = [&] {
        while (line.ends_with(' ')) line.pop_back();
        out += line + '\n';
        line = margin + std::string(hanging);
    };
    bool empty = true;
    while (!text.empty()) {
        const auto end = text.find(' ');
        const std::string_view word = text.substr(0, end);
        if (!empty && line.size() + word.size() > width) end_line(), empty = true;
        line += word;
        line += ' ';
        empty = false;
        text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    end_line();
}

/// Writes the fields of a group as {key: value, ...}.
std::string flow_of(const study::Group& group) {
    std::string flow = "{";
    for (const auto& [key, text] : group.fields)
        flow += (flow.size() > 1 ? ", " : "") + study::yaml_text(key) + ": " + text;
    return flow + "}";
}

/// Removes keys with default values, which every study has, from a group.
void leave_out_defaults(study::Group& group, const Study& study) {
    const auto drop = [&](auto&& is_default) {
        std::erase_if(group.fields, [&](const auto& field) { return is_default(field); });
    };
    if (group.section == "policy")
        drop([&](const auto& field) {
            return field.first == "regularization" ? study.policy.scaled : !study.policy.min_batch_size;
        });
    if (group.section == "resources")
        drop([&](const auto& field) {
            return field.first != "parallel" && field.first != "devices" &&
                   !(field.first == "backend" && study.resources.backend != "auto");
        });
    if (group.section == "worker" && group.name.empty()) {
        const ScriptWorker& script = *study.script();
        const bool has_placeholder =
            std::any_of(script.command.begin(), script.command.end(),
                        [](const std::string& argument) { return !script::placeholders(argument).empty(); });
        drop([&](const auto& field) {
            return (has_placeholder || !script.shim.empty()) && field.first == "metrics" && field.second == "{}";
        });
    }
}

/// Returns true if a study file without budget.epochs says that trials end with their script.
bool ends_with_script(const Study& study) {
    const ScriptWorker& script = *study.script();
    return script.metrics && !study::plans_steps(script) && study.stopping.empty() &&
           study.budget.epochs == Budget::most_epochs;
}

}  // namespace

std::string as_study_name(std::string_view text) {
    std::string name;
    for (const char c : text.substr(0, 64)) {
        const bool kept = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                          c == '_' || c == '-';
        if (kept || !name.ends_with('-')) name += kept ? c : '-';
    }
    while (name.starts_with('-') || name.starts_with('.')) name.erase(0, 1);
    while (name.ends_with('-')) name.pop_back();
    return name;
}

std::string StudyBuilder::Remark::shown() const {
    return one_line(file, 200) + (line > 0 ? ":" + std::to_string(line) : "") + ": " + one_line(text, 600);
}

void StudyBuilder::remark(const Section& section, int line, std::string text) {
    Remark remark{file_name_, line, std::move(text)};
    remarks_[section].push_back(remark);
    all_.push_back(std::move(remark));
}

std::string StudyBuilder::switch_file(std::string file_name) { return std::exchange(file_name_, std::move(file_name)); }

std::string StudyBuilder::study_name_of(const std::string& name) {
    const auto own = std::find(script::own_names.begin(), script::own_names.end(), name);
    std::string valid = own != script::own_names.end() ? name + "_" : name;
    for (char& c : valid)
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
              c == '-'))
            c = '_';
    if (valid.empty() ||
        !((valid[0] >= 'a' && valid[0] <= 'z') || (valid[0] >= 'A' && valid[0] <= 'Z') || valid[0] == '_'))
        valid = "_" + valid;
    return valid.substr(0, 64);
}

std::string StudyBuilder::free_name(const std::string& original) const {
    std::string name = study_name_of(original);
    // A stand-in passes parameters by their names. Any other script also finds them in variables.
    const auto clash = [&](const std::string& other, const std::string& candidate) {
        return other == candidate ||
               (study.script()->shim.empty() && script::variable_of(other) == script::variable_of(candidate));
    };
    const auto is_taken = [&](const std::string& candidate) {
        return std::any_of(study.fixed.begin(), study.fixed.end(),
                           [&](const auto& fixed) { return clash(fixed.first, candidate); }) ||
               std::any_of(study.space.begin(), study.space.end(),
                           [&](const Dimension& other) { return clash(other.name, candidate); });
    };
    for (int n = 2; is_taken(name); ++n) name = study_name_of(original).substr(0, 58) + "_" + std::to_string(n);
    return name;
}

void StudyBuilder::fix(const std::string& name, Value value) { study.fixed.emplace(free_name(name), std::move(value)); }

std::string StudyBuilder::add(Dimension dimension, const study::Location& location) {
    const std::string original = dimension.name;
    const std::string name = free_name(original);
    dimension.name = name;
    if (dimension.role == Role::none) dimension.role = study::recognised_role(name, dimension.kind);
    if (name != original) {
        const bool own =
            std::find(script::own_names.begin(), script::own_names.end(), original) != script::own_names.end();
        remark("space." + name, location,
               "'" + original + "' is called " + name + " here: " +
                   (own ? "hpo defines the placeholder {" + original + "}"
                        : "a name has at most 64 letters, digits, '_', '-' and '.', and occurs once, also as the "
                          "variable " +
                              script::variable_of(name)));
    }
    if (dimension.kind != Kind::categorical) note_epochs(original, dimension.high);
    for (const Value& choice : dimension.choices) note_epochs(original, number_or(choice, 0));
    if (dimension.role == Role::batch_size) batch_line_ = location.line;
    study.space.push_back(std::move(dimension));
    return name;
}

void StudyBuilder::note_epochs(const std::string& name, double largest) {
    constexpr std::array<std::string_view, 7> names{"epochs",    "num_epochs",       "n_epochs", "max_epochs",
                                                    "nb_epochs", "num_train_epochs", "epoch"};
    std::string last = name.substr(name.rfind('.') + 1);
    std::replace(last.begin(), last.end(), '-', '_');
    if (std::find(names.begin(), names.end(), last) == names.end() || !(largest >= 1 && largest <= 1e6)) return;
    epochs_ = std::max(epochs_, static_cast<std::int64_t>(std::ceil(largest)));
}

void StudyBuilder::choose_batch_size() {
    double least = HUGE_VAL;
    for (Dimension& dimension : study.space) {
        if (dimension.role != Role::batch_size) continue;
        double smallest = dimension.kind == Kind::categorical ? HUGE_VAL : dimension.low;
        for (const Value& choice : dimension.choices) smallest = std::min(smallest, number_or(choice, HUGE_VAL));
        if (smallest < 1 || std::floor(smallest) != smallest)
            dimension.role = Role::none;  // not a number of samples
        else
            least = std::min(least, smallest);
    }
    if (const auto fixed = study.fixed.find("batch_size"); fixed != study.fixed.end())
        least = std::min(least, std::max(1.0, std::floor(number_or(fixed->second, HUGE_VAL))));
    if (!(least < static_cast<double>(largest_auto_batch))) return;
    study.policy.min_batch_size = static_cast<std::int64_t>(least);
    remark("policy", batch_line_,
           "batches of " + std::to_string(*study.policy.min_batch_size) +
               " are allowed since the original has them, but leave most machines idle; batches of 256 and more, with "
               "stronger regularization, train as well in less time");
}

void StudyBuilder::write_remarks(std::string& out, const Section& section, int indent) const {
    const auto found = remarks_.find(section);
    if (found == remarks_.end()) return;
    for (const Remark& remark : found->second) write_comment(out, remark.shown(), indent, "  ");
}

std::string StudyBuilder::text() {
    choose_batch_size();
    if (study.name.empty()) study.name = "converted";
    study.budget.open = runs_to_end_ && ends_with_script(study);
    std::string body;
    std::set<Section> written;
    std::string section = "none";
    for (study::Group group : study::groups_of(study)) {
        leave_out_defaults(group, study);
        const bool listed = group.section == "stopping" || (group.section == "objective" && !group.name.empty());
        const bool nested = group.section == "space" || group.section == "worker" || listed;
        if (group.fields.empty() && !nested) continue;
        const bool first = group.section != section;
        section = group.section;
        if (first) body += '\n';
        if (first && nested) body += section + ":\n";
        const Section key = section == "space" ? "space." + group.name : section;
        if (written.insert(key).second) write_remarks(body, key, nested ? 2 : 0);
        const auto comment = comments_.find(key);
        const std::string tail = comment == comments_.end() ? "" : "  # " + one_line(comment->second, 200);
        if (listed)
            body += "  - " + flow_of(group) + tail + '\n';
        else if (section == "space" || !group.name.empty())
            body += "  " + study::yaml_text(group.name) + ": " + flow_of(group) + tail + '\n';
        else if (!nested && !section.empty())
            body += section + ": " + flow_of(group) + tail + '\n';
        else
            for (const auto& [name, value] : group.fields)
                body += (nested ? "  " : "") + study::yaml_text(name) + ": " + value + '\n';
    }

    if (runs_to_end_ && study.stopping.empty()) {
        body += '\n';
        if (written.insert("stopping").second) write_remarks(body, "stopping", 0);
        body += "stopping: []\n";
    }

    std::string head;
    write_comment(head,
                  "From " + one_line(file_name_, 100) + ", " + title + ", by hpo convert." +
                      (all_.empty() ? "" : " Comments with its name describe differences and cures."),
                  0);
    if (!description.empty()) write_comment(head, one_line(description, 1000), 0);
    for (const auto& [key, found] : remarks_)
        if (!written.contains(key)) write_remarks(head, key, 0);
    return head + body.substr(1);
}

std::vector<std::string> StudyBuilder::remarks() const {
    std::vector<const Remark*> order;
    for (const Remark& remark : all_) order.push_back(&remark);
    std::stable_sort(order.begin(), order.end(), [](const Remark* a, const Remark* b) {
        return std::tuple(a->line == 0, std::string_view(a->file), a->line) <
               std::tuple(b->line == 0, std::string_view(b->file), b->line);
    });
    std::vector<std::string> shown;
    for (const Remark* remark : order) shown.push_back(remark->shown());
    return shown;
}

}  // namespace hpo::importing

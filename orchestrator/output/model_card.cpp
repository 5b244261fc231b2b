#include "orchestrator/output/model_card.hpp"

#include "hpo/printable.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/text.hpp"
#include "hpo/version.hpp"
#include "hpo/worker_keys.hpp"

namespace hpo {

namespace {

using std::string;

string value_of(const Study& study, const char* key) {
    const auto found = study.fixed.find(key);
    return found == study.fixed.end() ? string(find_worker_key(key)->fallback) : printable_line(to_text(found->second));
}

/// Returns a table for each part of the data: scores of different parts cannot be compared.
string tables_of(const Metrics& scores) {
    constexpr std::string_view prefix = "baseline_";
    string test, validation, training;
    for (const auto& [name, number] : scores) {
        if (name.starts_with(prefix)) continue;
        const string row = "| " + name + " | " + short_number(number) + " |";
        if (name.starts_with("test_")) {
            const auto constant = scores.find(string(prefix) + name.substr(5));
            test += row + ' ' + (constant == scores.end() ? "" : short_number(constant->second)) + " |\n";
        } else {
            (name.starts_with("val_") ? validation : training) += row + '\n';
        }
    }
    string tables;
    if (!test.empty())
        tables +=
            "| on the test part | this model | a constant prediction |\n|---|---|---|\n" + test +
            "\nThe test part was drawn from the same data. How well the model does on other data is not known.\n\n";
    if (!validation.empty())
        tables += "| on the validation part | this model |\n|---|---|\n" + validation +
                  "\nSteps and configurations are chosen by the validation part: its scores are optimistic.\n\n";
    if (!training.empty()) tables += "| on the training part | this model |\n|---|---|\n" + training + '\n';
    return tables;
}

/// A fence that is longer than any in the text.
string fenced(const string& text) {
    string fence = "```";
    while (text.find(fence) != string::npos) fence += '`';
    return fence + "yaml\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + '\n';
}

}  // namespace

string model_card(const Study& study, const Metrics& scores, const string& model) {
    const string target = value_of(study, "target"), path = value_of(study, "path");
    return "---\nlibrary_name: hpo\ntags: [" + value_of(study, "type") + ", " + value_of(study, "format") +
           "]\n---\n\n# " + study.name + "\n\nA model of type " + value_of(study, "type") + ", trained by hpo " +
           version + ".\n\n" + "## Use\n\n    hpo predict " + shell_word(model) + " DATA -o predictions.csv\n\n" +
           "The file holds the weights, the preprocessing and the names of classes and columns (safetensors).\n\n" +
           "## Data\n\nFormat " + value_of(study, "format") + (path.empty() ? "" : ", from `" + path + "`") +
           (target.empty() ? "" : "; it predicts `" + target + "`") + ".\n\n## Scores\n\n" + tables_of(scores) +
           "## Configuration\n\n" + fenced(study.source);
}

}  // namespace hpo

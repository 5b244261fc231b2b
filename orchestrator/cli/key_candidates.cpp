#include <algorithm>

#include "hpo/worker_keys.hpp"
#include "orchestrator/cli/completion.hpp"
#include "orchestrator/sampling/registry.hpp"
#include "orchestrator/study/study_keys.hpp"

namespace hpo {

namespace {

using std::string;
using std::string_view;

struct Settable {
    string path;
    string words;  ///< values that are words, with '|' between them and other forms
    string_view meaning;
};

std::vector<Settable> settable_keys(const std::vector<string>& parameters) {
    std::vector<Settable> keys;
    for (const study::StudyKey& key : study::study_keys) {
        const auto name = key.path.find("NAME");
        if (name == string_view::npos) {
            keys.push_back({string(key.path), string(key.form), key.meaning});
        } else if (key.path.starts_with("space.")) {
            for (const string& parameter : parameters)
                keys.push_back({string(key.path).replace(name, 4, parameter),
                                key.form == "<flag>" ? "true|false" : string(key.form), key.meaning});
        }
    }
    for (const WorkerKey& key : worker_keys)
        keys.push_back({"worker." + (key.section.empty() ? "" : string(key.section) + ".") + string(key.name),
                        key.type == OptionType::flag ? "true|false" : string(key.choices), key.meaning});
    for (const PartOptions& part : sampler_vocabulary()) {
        for (Settable& key : keys)
            if (key.path == "sampler.type") key.words += (key.words.empty() ? "" : "|") + string(part.name);
        for (const Option& option : part.options) {
            const string path = "sampler." + string(option.name);
            if (std::none_of(keys.begin(), keys.end(), [&](const Settable& key) { return key.path == path; }))
                keys.push_back({path, string(option.choices), option.meaning});
        }
    }
    return keys;
}

}  // namespace

std::vector<Candidate> key_candidates(const string& begin, const std::vector<string>& parameters) {
    const auto equals = begin.find('=');
    std::vector<Candidate> found;
    for (const Settable& key : settable_keys(parameters)) {
        if (equals == string::npos)
            found.push_back({key.path + '=', string(key.meaning)});
        else if (key.path == begin.substr(0, equals))
            each_choice(key.words, [&](string_view word) {
                if (word.find_first_of("<[]>") == string_view::npos)
                    found.push_back({key.path + '=' + string(word), ""});
            });
    }
    return found;
}

}  // namespace hpo

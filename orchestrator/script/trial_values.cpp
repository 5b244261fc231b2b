#include "orchestrator/script/trial_values.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "hpo/wire.hpp"
#include "orchestrator/script/syntax/template.hpp"

namespace hpo::script {

using std::string;
using wire::Json;

std::optional<Value> TrialValues::value(const string& placeholder) {
    const Placeholder asked = take_apart(placeholder);
    if (asked.kind == Placeholder::Kind::params)
        return write_params(asked.name, params_text(run_.params, format_of(asked.name)));
    const auto found = run_.params.find(asked.name);
    if (asked.kind == Placeholder::Kind::flag) {
        const bool* flag = found == run_.params.end() ? nullptr : std::get_if<bool>(&found->second);
        if (flag == nullptr) return {};
        if (*flag) return asked.if_true;
        return asked.if_false ? std::optional<Value>(*asked.if_false) : std::nullopt;
    }
    if (found != run_.params.end() && !hides(asked.name)) return found->second;
    if (asked.name == "folder") return run_.folder;
    if (asked.name == "home") return home_;
    if (asked.name == "trial") return run_.id.trial;
    if (asked.name == "steps") return run_.steps;
    if (asked.name == "seed") return static_cast<std::int64_t>(run_.seed % seeds);
    if (asked.name == "data_seed") return static_cast<std::int64_t>(run_.data_seed % seeds);
    if (asked.name == "params_file")
        return write_params("params.json",
                            wire::from(run_.params).dump(2, ' ', false, Json::error_handler_t::replace) + '\n');
    return {};
}

std::optional<string> TrialValues::operator()(const string& placeholder) {
    const auto found = value(placeholder);
    if (!found || is_null(*found)) return {};
    return to_text(*found);
}

string TrialValues::write_params(const string& name, const string& text) {
    write(name, text);
    return (std::filesystem::path(run_.folder) / name).string();
}

void TrialValues::write(const string& name, const string& text) {
    const auto path = std::filesystem::path(run_.folder) / name;
    errno = 0;
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text;
    file.close();
    if (!file && problem_.empty())
        problem_ = "cannot write " + path.string() + ": " + std::strerror(errno != 0 ? errno : EIO);
}

}  // namespace hpo::script

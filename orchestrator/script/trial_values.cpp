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

std::optional<Value> TrialValues::value(const string& braced) {
    const Placeholder placeholder = take_apart(braced);
    if (placeholder.kind == Placeholder::Kind::params)
        return write_params(placeholder.name, params_text(run_.params, format_of(placeholder.name)));
    const auto found = run_.params.find(placeholder.name);
    if (placeholder.kind == Placeholder::Kind::flag) {
        const bool* flag = found == run_.params.end() ? nullptr : std::get_if<bool>(&found->second);
        if (flag == nullptr) return {};
        if (*flag) return placeholder.if_true;
        return placeholder.if_false ? std::optional<Value>(*placeholder.if_false) : std::nullopt;
    }
    if (found != run_.params.end() && !hides(placeholder.name)) return found->second;
    if (placeholder.name == "folder") return run_.folder;
    if (placeholder.name == "home") return home_;
    if (placeholder.name == "trial") return run_.id.trial;
    if (placeholder.name == "steps") return run_.steps;
    if (placeholder.name == "seed") return static_cast<std::int64_t>(run_.seed % seeds);
    if (placeholder.name == "data_seed") return static_cast<std::int64_t>(run_.data_seed % seeds);
    if (placeholder.name == "params_file")
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

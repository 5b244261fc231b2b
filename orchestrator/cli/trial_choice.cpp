#include "orchestrator/cli/trial_choice.hpp"

#include <charconv>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo {
namespace {

constexpr int misuse = 2;

std::optional<std::int64_t> trial_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
    return number;
}

}  // namespace

TrialChoice split_trial(const std::string& what, const std::string& study, bool trial_required) {
    if (const auto number = trial_number(what)) return {study, number};
    if (const auto slash = what.rfind('/'); slash != std::string::npos)
        if (const auto number = trial_number(std::string_view(what).substr(slash + 1))) {
            if (!study.empty()) throw Fatal("the study is named twice: '" + what + "' and '" + study + "'", misuse);
            return {what.substr(0, slash), number};
        }
    if (trial_required) throw Fatal("'" + what + "' is no trial: write its number (from 1), or STUDY/NUMBER", misuse);
    if (!study.empty()) throw Fatal("the study is named twice: '" + what + "' and '" + study + "'", misuse);
    return {what, std::nullopt};
}

}  // namespace hpo

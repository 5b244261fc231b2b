#include "orchestrator/lookup/trial_choice.hpp"

#include <charconv>
#include <string_view>

#include "hpo/result.hpp"

namespace hpo {
namespace {

constexpr int wrong_usage = 2;

std::optional<std::int64_t> trial_number(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (status != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
    return number;
}

}  // namespace

TrialChoice split_trial(const std::string& argument, const std::string& study, bool trial_required) {
    if (const auto number = trial_number(argument)) return {study, number};
    const auto refuse_second_study = [&] {
        if (!study.empty())
            throw Fatal("the study is named twice: '" + argument + "' and '" + study + "'", wrong_usage);
    };
    if (const auto slash = argument.rfind('/'); slash != std::string::npos)
        if (const auto number = trial_number(std::string_view(argument).substr(slash + 1))) {
            refuse_second_study();
            return {argument.substr(0, slash), number};
        }
    if (trial_required)
        throw Fatal("'" + argument + "' is not a trial: write its number (from 1), or STUDY/NUMBER", wrong_usage);
    refuse_second_study();
    return {argument, std::nullopt};
}

}  // namespace hpo

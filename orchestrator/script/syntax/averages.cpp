#include "orchestrator/script/syntax/averages.hpp"

#include <algorithm>

#include "orchestrator/script/syntax/metric_names.hpp"
#include "orchestrator/script/syntax/words.hpp"

namespace hpo::script {

namespace {

constexpr std::size_t max_averages = 4096;

std::string joined_name(const Averages::Words& words) {
    std::string name;
    for (const std::string_view word : essence(words)) name += (name.empty() ? "" : "_") + std::string(word);
    return name;
}

/// Returns the first word of the line.
std::string kind_of(std::span<const Token> line) {
    const auto word =
        std::find_if(line.begin(), line.end(), [](const Token& token) { return token.kind == Token::Kind::word; });
    return word == line.end() ? std::string{} : std::string(word->text);
}

bool speaks_of_averages(std::span<const Token> line) {
    return std::any_of(line.begin(), line.end(), [](const Token& token) {
        const std::string word = token.kind == Token::Kind::word ? lower_case(token.text) : std::string{};
        return word.starts_with("averag") || word.starts_with("avg") || word == "mean";
    });
}

}  // namespace

void Averages::add(const Words& words, std::span<const Token> line) {
    if (known_.size() >= max_averages) return;
    const std::string name = joined_name(words);
    known_.insert(name);
    known_.insert(kind_of(line) + ' ' + name);
}

bool Averages::has(const Words& words, std::span<const Token> line, std::size_t at) const {
    const std::string name = joined_name(words);
    if (known_.contains(kind_of(line) + ' ' + name)) return true;
    return known_.contains(name) && speaks_of_averages(line.first(at));
}

}  // namespace hpo::script

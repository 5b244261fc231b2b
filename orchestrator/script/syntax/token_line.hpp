// Finds numbers, and what belongs to them, among the tokens of a line.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orchestrator/script/syntax/metrics.hpp"
#include "orchestrator/script/syntax/tokens.hpp"

namespace hpo::script {

/// Splits at each '/'.
std::vector<std::string_view> split_at_slashes(std::string_view text);
/// Returns true for names of data that slashes join: "train/val".
bool joins_phases(std::string_view word);

class TokenLine {
   public:
    using Kind = Token::Kind;

    struct Value {
        double number = 0;
        std::size_t end = 0;  ///< index of the token after it
    };

    explicit TokenLine(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

    [[nodiscard]] bool is(std::size_t at, Kind kind) const { return at < tokens_.size() && tokens_[at].kind == kind; }
    [[nodiscard]] bool is(std::size_t at, Kind kind, std::string_view text) const {
        return is(at, kind) && tokens_[at].text == text;
    }
    [[nodiscard]] bool is_separator(std::size_t at) const {
        return is(at, Kind::equals) || is(at, Kind::colon) || is(at, Kind::arrow);
    }
    /// Returns the number at this token, also in quotes, in brackets, or as in tensor(0.5, device='cuda').
    [[nodiscard]] std::optional<Value> value_at(std::size_t at, std::size_t depth = 0) const;
    /// Returns true if the number is the percentage before a progress bar.
    [[nodiscard]] bool is_bar_after(std::size_t number) const;
    /// Returns the unit of the number that ends before this token: a word, or the sign of a percentage.
    [[nodiscard]] std::string_view unit_at(std::size_t at) const;
    /// Returns true if a further number or a sum follows: "0.99 0.91", "0.1 + 0.2".
    [[nodiscard]] bool goes_on_at(std::size_t at) const;
    /// Returns true if this token is a further number of the same name, also a percentage: "144 96 %".
    [[nodiscard]] bool is_second_number(std::size_t at) const;
    /// Returns the doubt about the number that ends before this token.
    [[nodiscard]] Doubt doubt_at(std::size_t at) const;
    /// Adds the numbers of "0.7/0.6" and "0.7 / 0.6", or of "0.7 0.6" and "0.7, 0.6", that begin with this token, and
    /// returns the token after them.
    std::size_t numbers_at(std::size_t at, bool slashes, std::vector<double>& numbers) const;

    /// Returns true if the slash at this token joins two names, whose numbers a slash joins as well: "loss / acc: 0.5 /
    /// 0.7".
    [[nodiscard]] bool joins_names(std::size_t at) const;
    /// Returns the percentage behind the ratio at this token, as in "99/100 (99%)" and "99/100 = 99%". Returns nothing
    /// for a ratio without one, since nobody knows whether its sign divides.
    [[nodiscard]] std::optional<Value> share_at(std::size_t at) const;
    /// Returns true for a power of ten in brackets between a name and its number: "loss (x1e-3): 0.91".
    [[nodiscard]] bool is_scale_at(std::size_t at) const;

   protected:
    std::vector<Token> tokens_;
};

}  // namespace hpo::script

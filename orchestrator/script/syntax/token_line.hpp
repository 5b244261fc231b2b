// Finds numbers, and what belongs to them, among the tokens of a line.
#pragma once

#include <optional>
#include <string>
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

/// Returns the part of a name that names data: val of "x_val". Returns an empty text if there is none.
std::string_view phase_word_of(std::string_view name);
/// Returns the first words in one text.
std::string join(const std::vector<std::string_view>& words, std::size_t count);
/// Returns true for "acc over epoch".
bool is_average_over(const std::vector<std::string_view>& words);

struct JoinedNames {
    std::vector<std::vector<std::string_view>> names;
    bool slashes = false;  ///< join them
};
/// Returns the names of the metrics in "Train/Valid Acc" and "loss/acc", and in words each of which is of a metric:
/// "precision recall f1". Returns none for words that are one name.
JoinedNames names_in(const std::vector<std::string_view>& words);

class TokenLine {
   public:
    using Kind = Token::Kind;

    struct Value {
        double number = 0;
        std::size_t end = 0;  ///< index of the token after it
    };

    struct Average {
        double number = 0;
        bool named = false;   ///< as in "(avg: 0.9)"
        std::size_t end = 0;  ///< index of the token after its bracket
    };

    /// The things that a ratio such as 3/10 counts.
    enum class RatioOf {
        outer_rounds,  ///< epochs, folds, episodes and the like
        named,         ///< what a word or a number before it tells, as in "Train: 0 [50/100]"
        unknown
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
    /// Returns true if a comma and a last number follow, or a further comma behind it: "90.1, 87.9, 87.4".
    [[nodiscard]] bool is_list_at(std::size_t at) const;
    /// Returns true if a further number or a sum follows: "0.99 0.91", "0.1 + 0.2".
    [[nodiscard]] bool goes_on_at(std::size_t at) const;
    /// Returns true for a number at this token that may be the value as well as the number before it. A whole number
    /// behind a fraction is a count: "accuracy 0.76 190" in scikit-learn's report.
    [[nodiscard]] bool competes(std::size_t at) const;
    /// Returns true if the bar at this token is the only one, and stands before the number at the end: "Accuracy |
    /// 0.85".
    [[nodiscard]] bool is_value_bar(std::size_t at) const;
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
    /// Returns the percentage behind the ratio at this token, as in "99/100 (99%)" and "99/100 = 99%", and of a metric
    /// the quotient, as in "99/100 (0.99)". Returns nothing for a ratio without either, since nobody knows whether its
    /// sign divides.
    [[nodiscard]] std::optional<Value> share_at(std::size_t at, bool of_metric) const;
    /// Returns true for a power of ten in brackets between a name and its number: "loss (x1e-3): 0.91".
    [[nodiscard]] bool is_scale_at(std::size_t at) const;
    /// Returns the token behind the text at this token that is the value of a name: "a text" in quotes, resnet/18.
    [[nodiscard]] std::size_t text_end(std::size_t at) const;
    /// Returns the words of the name behind a number that begins the line: "0.84 = Validation score (accuracy)".
    /// Returns none for other lines, such as a legend: "1 = exit error".
    [[nodiscard]] std::vector<std::string_view> name_of_reversed() const;
    /// Returns the names behind the numbers of a line that is a list of them, as darknet prints: "1: 15.5, 12.5 avg
    /// loss, 0.001 rate, 64 images". Returns none unless one of several names is of a metric.
    [[nodiscard]] std::vector<std::pair<std::vector<std::string_view>, double>> reversed_list() const;
    /// Returns true if a whole number counts the sample of a metric after this word: "on the 10000", "last 100".
    static bool counts_sample(std::string_view word, const Token& count);
    /// Returns the separator behind the sample whose name begins with this token, as in "test images: 90 %", with the
    /// word before its number. Returns `at` if there is none. A count of other things may tell results apart: "accuracy
    /// with 3 neighbors: 0.9", "Loss for the 1 class: 0.8".
    [[nodiscard]] std::size_t sample_end(std::size_t at, std::string_view before) const;
    /// Returns the token after the bracket at this token if it has numbers of phases alone, each with its name, its
    /// separator and its comma: "(train=0.92, test=0.91)". Otherwise returns `at`.
    [[nodiscard]] std::size_t phases_end(std::size_t at) const;
    /// Returns the sign behind the arguments of a call that is shown with its value, which the bracket at this token
    /// begins: "(x, y) = 0.5". Otherwise returns `at`.
    [[nodiscard]] std::size_t arguments_end(std::size_t at) const;
    /// Returns the number in brackets at this token that may be an average.
    [[nodiscard]] std::optional<Average> average_in_brackets(std::size_t at) const;
    [[nodiscard]] bool is_negative_in_brackets(std::size_t at) const;
    /// Returns the things that the ratio at this token counts. One behind a named ratio, as in "Train: 1/3 [49/323]",
    /// counts the parts of what that one does.
    [[nodiscard]] RatioOf ratio_of_at(std::size_t at) const;

   protected:
    std::vector<Token> tokens_;

   private:
    [[nodiscard]] RatioOf ratio_alone(std::size_t at) const;
};

}  // namespace hpo::script

// Splits a line into words, numbers and signs.
#pragma once

#include <string_view>
#include <vector>

namespace hpo::script {

struct Token {
    enum class Kind {
        word,    ///< begins with a letter: val_loss, acc@1, mAP50-95(B), valid_0's
        number,  ///< complete: 0.25, -1e-3, nan
        junk,    ///< begins like a number or is no word: 3/10, 12:30, 5s, 0x10, /path, >=
        equals,  ///< = and :=
        colon,
        arrow,  ///< -> and =>
        comma,  ///< and ;
        bar,
        open,   ///< ( [ { <
        close,  ///< ) ] } >
        quote,
        rule  ///< an isolated -, runs of - = * # + _
    };
    Kind kind = Kind::junk;
    std::string_view text;
    double number = 0;
    bool percent = false;       ///< a number with % after it
    bool sentence_end = false;  ///< a word or number with a full stop after it
    std::size_t gap = 0;        ///< blanks before it; a tab counts as 8
};

/// Splits a line that plain_text() has returned. `ambiguous` is set to the first number such as 1,234, which may have a
/// decimal or a thousands comma. An ambiguous number is junk, while 0,25 and 93,25 are numbers.
std::vector<Token> tokens_of(std::string_view line, std::string_view& ambiguous);

}  // namespace hpo::script

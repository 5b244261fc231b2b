// Problems in a study file, with their places, shown as a compiler shows them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::study {

/// A stretch of a source. `line` and `column` (in bytes) count from 1; line 0: the source as a whole.
struct Location {
    int source = 0;
    int line = 0;
    int column = 1;
    int length = 1;
};

/// Collects problems and renders them in the order of the sources. The first source is the file, the others are
/// options of the command line, which are shown by their name alone.
class Diagnostics {
   public:
    Diagnostics(std::string file_name, std::string_view text);

    /// Returns the source's number.
    int add_option(std::string name);

    void error(Location location, std::string message);
    /// Belongs to the error before it: where the other half of a conflict stands.
    void note(Location location, std::string message);

    [[nodiscard]] bool ok() const { return problems_.empty(); }
    [[nodiscard]] std::string text() const;

   private:
    struct Problem {
        Location location;
        std::string message;
        std::vector<std::pair<Location, std::string>> notes;
    };
    void render(std::string& out, Location location, std::string_view message) const;

    std::vector<std::string> names_;
    std::vector<std::string> lines_;  ///< of the file
    std::vector<Problem> problems_;
};

/// Printable: control characters and broken UTF-8 as '?', at most `limit` bytes, then "...".
std::string printable(std::string_view text, std::size_t limit = 60);

/// The candidate that `word` most likely meant; empty: none is near. Case, '-' and '_' do not count.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// The candidate that is near `word`, or that other tools call so; empty: there is none.
std::string_view meant_by(std::string_view word, const std::vector<std::string_view>& candidates);

/// "; did you mean 'trials'?" of the nearest candidate, or else of one that other tools call `word`; or "; known: a, b,
/// c", or nothing.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace hpo::study

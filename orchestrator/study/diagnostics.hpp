// Collects problems in a study file with their locations and shows them as a compiler does.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hpo::study {

/// A range of a source. `line` and `column` (in bytes) count from 1; line 0 means the source as a whole.
struct Location {
    int source = 0;
    int line = 0;
    int column = 1;
    int length = 1;
};

/// Collects problems and renders them in the order of the sources. The first source is the file; the others are options
/// of the command line, of which only the name is shown.
class Diagnostics {
   public:
    Diagnostics(std::string file_name, std::string_view text);

    /// Adds an option as a source and returns its number.
    int add_option(std::string name);

    void error(Location location, std::string message);
    /// Adds a note to the last error, such as the location of the other half of a conflict.
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
    std::vector<std::string> lines_;  ///< lines of the file
    std::vector<Problem> problems_;
};

/// Returns the text with '?' for control characters and broken UTF-8; after `limit` bytes it is cut, with "...".
std::string printable(std::string_view text, std::size_t limit = 60);

/// Returns the candidate that is nearest to `word`, or an empty text if none is near. Case, '-' and '_' do not count.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// Returns the candidate that is near `word`, or that other tools call `word`; empty if there is none.
std::string_view meant_by(std::string_view word, const std::vector<std::string_view>& candidates);

/// Returns the end of a message: "; did you mean 'trials'?" with the candidate that is near `word` or that other tools
/// call `word`, otherwise "; known: a, b, c", or an empty text.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace hpo::study

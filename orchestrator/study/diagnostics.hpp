// Collects problems in a study file with their locations and formats them as a compiler does.
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

/// Collects problems and formats them ordered by location. The first source is the file. The others are options of the
/// command line, which are shown by their name alone.
class Diagnostics {
   public:
    Diagnostics(std::string file_name, std::string_view text);

    /// Adds an option as a source and returns its number.
    int add_option(std::string name);

    void error(Location location, std::string message);
    /// Adds a note to the last error, such as the location of the other half of a conflict.
    void note(Location location, std::string message);

    /// Returns true if the file has `text` at a location.
    [[nodiscard]] bool shows(const Location& location, std::string_view text) const;

    /// Accepts keys of earlier versions in a study that has run, so that its results can still be read.
    void accept_earlier() { accepts_earlier_ = true; }
    [[nodiscard]] bool accepts_earlier() const { return accepts_earlier_; }

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
    bool accepts_earlier_ = false;
};

/// Replaces control characters and broken UTF-8 by '?'. Cuts the text after `limit` bytes and appends "..." then.
std::string printable(std::string_view text, std::size_t limit = 60);

/// Returns the candidate that is similar to `word`, or that other tools call `word`. Returns an empty text if there is
/// none.
std::string_view meant_by(std::string_view word, const std::vector<std::string_view>& candidates);

/// Returns the end of an error message: "; did you mean 'trials'?" if meant_by() finds a candidate, else "; known: a,
/// b, c" if there are few candidates, else an empty text.
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace hpo::study

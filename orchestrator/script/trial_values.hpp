// Computes the values of placeholders in one trial and writes the files in its folder.
#pragma once

#include <optional>
#include <string>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "orchestrator/script/syntax/configuration_file.hpp"

namespace hpo::script {

/// The number of different seeds for scripts. NumPy accepts 32 bits, other libraries a signed int.
inline constexpr std::uint64_t seeds = std::uint64_t{1} << 31;

class TrialValues {
   public:
    /// `home` is the value of {home}. `run` must outlive this object.
    TrialValues(const to_worker::Run& run, std::string home) : run_(run), home_(std::move(home)) {}

    /// Returns the text of a placeholder for a command, or nothing if it has no value in this trial. For {params_file}
    /// and {params:NAME} it also writes the file.
    std::optional<std::string> operator()(const std::string& placeholder);
    /// Like operator(), but returns the value with its type, for a configuration file.
    [[nodiscard]] std::optional<Value> value(const std::string& placeholder);

    /// Writes a file into the trial's folder. A failure is kept in problem().
    void write(const std::string& name, const std::string& text);
    /// Returns why the first file that failed could not be written, or an empty text.
    [[nodiscard]] const std::string& problem() const { return problem_; }

   private:
    std::string write_params(const std::string& name, const std::string& text);

    const to_worker::Run& run_;
    std::string home_;
    std::string problem_;
};

}  // namespace hpo::script

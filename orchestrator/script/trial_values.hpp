// What placeholders become in one trial, and the files that are written for it into its folder.
#pragma once

#include <optional>
#include <string>

#include "hpo/messages.hpp"
#include "hpo/result.hpp"
#include "hpo/value.hpp"
#include "orchestrator/script/syntax/configuration_file.hpp"

namespace hpo::script {

/// Seeds of scripts are below this: NumPy takes 32 bits, others a signed int.
inline constexpr std::uint64_t seeds = std::uint64_t{1} << 31;

class TrialValues {
   public:
    /// `home`: what {home} gives. `run` outlives it.
    TrialValues(const to_worker::Run& run, std::string home) : run_(run), home_(std::move(home)) {}

    /// For a command. {params_file} and {params:NAME} write their file.
    std::optional<std::string> operator()(const std::string& placeholder);
    /// For a file.
    [[nodiscard]] std::optional<Value> value(const std::string& placeholder);

    /// Writes a file into the trial's folder.
    void write(const std::string& name, const std::string& text);
    /// Of a file that could not be written; empty: none.
    [[nodiscard]] const std::string& problem() const { return problem_; }

   private:
    std::string write_params(const std::string& name, const std::string& text);

    const to_worker::Run& run_;
    std::string home_;
    std::string problem_;
};

}  // namespace hpo::script

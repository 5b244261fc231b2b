// Functions that the readers of other tools' files share. Each reader fills a study builder. It adds errors in the file
// to the diagnostics, and a remark for each thing that cannot be converted.
#pragma once

#include "hpo/options.hpp"
#include "orchestrator/import/convert.hpp"
#include "orchestrator/import/study_builder.hpp"

namespace hpo::importing {

struct Reading {
    study::Diagnostics& diagnostics;
    StudyBuilder& builder;
    const Vocabulary& known;
    const ReadOther& read_other;

    void error(const study::Location& location, const std::string& message) const {
        diagnostics.error(location, message);
    }
    /// Returns true if a study may have this sampler.
    [[nodiscard]] bool knows_sampler(std::string_view name) const;
    /// Adds a remark for each key of `map` that is not among `known_keys`. `owner` names the map in the remarks.
    void leave_out_others(const study::Node& map, const std::vector<std::string_view>& known_keys,
                          const std::string& owner) const;
};

/// Replaces tabs between the tokens of JSON by blanks, which makes it YAML. Returns other texts unchanged.
std::string without_tabs(std::string_view text);

/// Converts a name to one that a metric may have: letters, digits and . _ - /, not beginning with a digit. Other
/// characters become '_'.
std::string metric_name_of(std::string_view name);

/// Sets the maximum number of steps of a trial. Must be called once everything else is known. The maximum is `reports`
/// if positive. Otherwise the file does not tell how often a script reports, perhaps once per batch, independent of its
/// number of epochs: the trials run to their ends, with a remark. The maximum is increased if halving would begin
/// later.
void choose_epochs(StudyBuilder& builder, std::int64_t reports);

/// Adds successive halving as the rule `asha` with its first rung at `grace` steps, which promotes one trial in
/// `factor`. `original` names the replaced rule in the remark.
void add_halving(StudyBuilder& builder, std::int64_t grace, double factor, const study::Location& location,
                 const std::string& original);

/// Selects random search over the space as declared, without stronger regularization for larger batches.
void use_random(StudyBuilder& builder);

/// Selects the sampler that tries every combination once, with their number as the budget. If hpo has none, or if the
/// space is continuous, selects a similar one with a remark.
void use_grid(const Reading& reading, const study::Location& location);

}  // namespace hpo::importing

// Functions that the readers of other tools' files share. Each reader fills a study builder. Errors in the file are
// added to the diagnostics; for what cannot be converted there is a remark.
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
    /// Whether a study may name this sampler or rule.
    [[nodiscard]] bool knows_sampler(std::string_view name) const;
    /// Adds remarks for the keys of a map that are not among `known_keys`.
    void leave_out_others(const study::Node& map, const std::vector<std::string_view>& known_keys,
                          const std::string& what) const;
};

/// Replaces tabs between tokens by blanks: apart from them JSON is YAML.
std::string without_tabs(std::string_view text);

/// Returns a name that a metric may have: letters, digits and . _ - /, not beginning with a digit; other characters
/// become '_'.
std::string metric_name_of(std::string_view name);

/// Chooses the steps of a trial, once everything else is known: by parameters named after epochs, or `otherwise`, or a
/// large number with a remark. There are more if halving would begin later.
void choose_epochs(StudyBuilder& builder, std::int64_t otherwise);

/// Adds successive halving as `asha`: from `grace` steps on, the best one in `factor` goes on.
void add_halving(StudyBuilder& builder, std::int64_t grace, double factor, const study::Location& location,
                 const std::string& what);

/// Chooses random search over the space as declared, without stronger regularization for larger batches.
void use_random(StudyBuilder& builder);

/// Chooses the sampler that tries every combination once, with their number as the budget, or a similar sampler with a
/// remark. For a continuous space, which has no such number, there is a remark too.
void use_grid(const Reading& reading, const study::Location& location);

}  // namespace hpo::importing

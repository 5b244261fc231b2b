// What the readers of other tools' files share. Each of them fills a study builder; what is wrong with the file itself
// goes to the diagnostics, what cannot be carried over becomes a remark.
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
    /// Remarks for the keys of a map that are not among `known_keys`.
    void leave_out_others(const study::Node& map, const std::vector<std::string_view>& known_keys,
                          const std::string& what) const;
};

/// JSON is YAML, but for tabs between its words: they become blanks.
std::string without_tabs(std::string_view text);

/// A name that a metric may have: letters, digits and . _ - /, and no digit first; other characters become '_'.
std::string metric_name_of(std::string_view name);

/// The steps of a trial, once all else is known: by parameters named after epochs, or `otherwise`, or many, with a
/// remark. Halving that begins later than a trial ends makes it longer.
void choose_epochs(StudyBuilder& builder, std::int64_t otherwise);

/// Successive halving: asha, from `grace` steps on, the best one in `factor`.
void add_halving(StudyBuilder& builder, std::int64_t grace, double factor, const study::Location& location,
                 const std::string& what);

/// Random search as its users mean it: points of the space as it is declared, without stronger regularization for
/// larger batches.
void use_random(StudyBuilder& builder);

/// The sampler that tries every combination once, or one like it, with a remark; and how many there are, as the
/// budget. A space with a continuum has no such number: a remark.
void use_grid(const Reading& reading, const study::Location& location);

}  // namespace hpo::importing

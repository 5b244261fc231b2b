// A study on its way from another tool: what has been understood so far, and what has to be said about it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/study/document.hpp"

namespace hpo::importing {

/// Where a remark stands in the study: "" at its top, "objective", "space.lr", "worker", "budget", "sampler",
/// "stopping", "policy", "resources".
using Section = std::string;

class StudyBuilder {
   public:
    explicit StudyBuilder(std::string file_name) : file_name_(std::move(file_name)) {}

    Study study;
    std::string title;        ///< of the first line: "a W&B sweep"
    std::string description;  ///< the original's own words

    /// What is different here, and what to do about it. `line` counts from 1; 0: of the file as a whole.
    void remark(const Section& section, int line, std::string text);
    void remark(const Section& section, const study::Location& location, std::string text) {
        remark(section, location.line, std::move(text));
    }
    /// Remarks are of another file from here on; the way back too.
    std::string switch_file(std::string file_name);

    /// A word for the end of a section's line: where its numbers come from.
    void comment(const Section& section, std::string text) { comments_[section] = std::move(text); }

    /// A parameter that varies; one that a study cannot name gets a name that it can. Returns the name it has.
    std::string add(Dimension dimension, const study::Location& location);
    /// One that does not vary, for the file of parameters.
    void fix(const std::string& name, Value value);
    /// The name that `name` has in the study, whether or not it is there yet.
    [[nodiscard]] static std::string study_name_of(const std::string& name);

    /// The most steps that parameters named after epochs allow; 0: none is named so.
    void see_epochs(const std::string& name, double most);
    [[nodiscard]] std::int64_t epochs() const { return epochs_; }

    /// The study with its comments. Ends what is open: its name, the policy for its batch sizes.
    std::string text();
    [[nodiscard]] std::vector<std::string> remarks() const;

   private:
    struct Remark {
        std::string file;
        int line = 0;
        std::string text;
        [[nodiscard]] std::string shown() const;
    };
    [[nodiscard]] std::string free_name(const std::string& name) const;
    void choose_batch_size();
    void write_remarks(std::string& out, const Section& section, int indent) const;

    std::string file_name_;
    std::map<Section, std::vector<Remark>> remarks_;
    std::vector<Remark> all_;
    std::map<Section, std::string> comments_;
    std::int64_t epochs_ = 0;
    int batch_line_ = 0;
};

/// A word that a study may be named: other characters become '-'; empty: none is left.
std::string as_study_name(std::string_view text);

}  // namespace hpo::importing

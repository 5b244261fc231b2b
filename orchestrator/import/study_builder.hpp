// Collects the parts of a converted study, with remarks about the parts that could not be converted.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hpo/study.hpp"
#include "orchestrator/study/document.hpp"

namespace hpo::importing {

/// The section of the study in which a remark is written: "" for its top, "objective", "space.lr", "worker", "budget",
/// "sampler", "stopping", "policy", "resources".
using Section = std::string;

class StudyBuilder {
   public:
    explicit StudyBuilder(std::string file_name) : file_name_(std::move(file_name)) { study.worker = ScriptWorker{}; }

    Study study;
    /// Returns the script of the study, which has one from the start.
    [[nodiscard]] ScriptWorker& script() { return *study.script(); }
    std::string title;        ///< for the first line: "a W&B sweep"
    std::string description;  ///< the original's description

    /// Adds a remark about a difference, with the cure. `line` counts from 1; 0 means the file as a whole.
    void remark(const Section& section, int line, std::string text);
    void remark(const Section& section, const study::Location& location, std::string text) {
        remark(section, location.line, std::move(text));
    }
    /// Makes further remarks refer to another file. Returns the name of the previous one.
    std::string switch_file(std::string file_name);

    /// Sets a comment at the end of a section's line, for instance about the origin of its numbers.
    void comment(const Section& section, std::string text) { comments_[section] = std::move(text); }

    /// Adds a parameter to the space. A name that is not valid in a study is changed, with a remark. Returns the name
    /// in the study.
    std::string add(Dimension dimension, const study::Location& location);
    /// Adds a parameter with a fixed value.
    void fix(const std::string& name, Value value);
    /// Returns the name that a parameter with this name has in the study unless it is taken.
    [[nodiscard]] static std::string study_name_of(const std::string& name);

    /// Records the largest value of a parameter that is named after epochs. Ignores other parameters.
    void note_epochs(const std::string& name, double largest);
    /// Returns the largest of the recorded values, or 0 if there is none.
    [[nodiscard]] std::int64_t epochs() const { return epochs_; }

    /// Writes that no rule ends trials early, unless the study has rules. Without it a study may have rules by default.
    void run_to_end() { runs_to_end_ = true; }

    /// Completes the study with a name and the policy for batch sizes, and returns it as YAML with its comments.
    std::string text();
    /// Returns the remarks ordered by file and line.
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
    bool runs_to_end_ = false;
};

/// Converts a text to a name that a study may have. Other characters become '-'. Returns an empty text if nothing is
/// left.
std::string as_study_name(std::string_view text);

}  // namespace hpo::importing

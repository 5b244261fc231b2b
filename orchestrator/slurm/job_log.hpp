// Reads the output of a study's jobs: runs/NAME/slurm.log, to which each job appends.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hpo::slurm {

/// The line that a job's script prints first. The shell fills it in.
inline constexpr std::string_view job_begins = "job $SLURM_JOB_ID begins on $SLURMD_NODENAME";

/// The output of a job about its failure.
struct Complaint {
    bool began = false;  ///< its script has begun
    std::string text;    ///< the last error of hpo without "hpo: ", else of the shell or of Slurm; empty: none
};

/// Returns the complaint of a job, as its last start has left it in the log. Pure. `is_cut`: `log` is the end of a
/// longer file, so that the beginning of the job may be missing.
Complaint complaint_in(std::string_view log, const std::string& job, bool is_cut);

/// Reads the complaint of a job from the file.
Complaint complaint_of(const std::filesystem::path& log, const std::string& job);

/// Reads the warnings that a job adds to the file.
class LogWarnings {
   public:
    /// Begins at the present end of the file.
    explicit LogWarnings(std::filesystem::path log);
    /// Returns the warnings since the last call, without "warning: ". Only whole lines count.
    std::vector<std::string> read();

   private:
    std::filesystem::path log_;
    std::uintmax_t position_ = 0;
};

}  // namespace hpo::slurm

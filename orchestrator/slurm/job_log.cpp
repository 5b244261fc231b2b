#include "orchestrator/slurm/job_log.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "hpo/printable.hpp"
#include "hpo/regular_file.hpp"

namespace hpo::slurm {

namespace {

constexpr std::uintmax_t most_read = 256 << 10;  ///< bytes at once
constexpr std::string_view error_prefix = "hpo: ", warning_prefix = "warning: ";

std::vector<std::string_view> whole_lines(std::string_view text) {
    std::vector<std::string_view> lines;
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return lines;
}

std::uintmax_t size_of(const std::filesystem::path& file) {
    std::error_code failed;
    const auto size = std::filesystem::file_size(file, failed);
    return failed ? 0 : size;
}

std::string read_from(const std::filesystem::path& file, std::uintmax_t position) {
    if (!check_regular(file)) return {};
    std::string text(most_read, '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(static_cast<std::streamoff>(position));
    stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
}

bool is_error_of_hpo(std::string_view line) {
    return line.starts_with(error_prefix) && !line.substr(error_prefix.size()).starts_with(warning_prefix);
}

/// Returns true for lines of the shell, which names the script if it cannot start hpo, and of Slurm about the job.
bool is_error_of_others(std::string_view line) {
    return line.find("slurm_script: ") != std::string_view::npos || line.starts_with("slurmstepd: error: ") ||
           line.starts_with("slurmstepd-");
}

}  // namespace

Complaint complaint_in(std::string_view log, const std::string& job, bool is_cut) {
    const std::string begins = "job " + job + " begins on ";
    Complaint complaint{is_cut, ""};
    bool is_hpo = false;
    for (const std::string_view line : whole_lines(log)) {
        if (line.starts_with(begins)) {
            complaint = {true, ""};
            is_hpo = false;
        } else if (is_error_of_hpo(line)) {
            complaint.text = printable(line.substr(error_prefix.size()));
            is_hpo = true;
        } else if (!is_hpo && is_error_of_others(line)) {
            complaint.text = printable(line);
        }
    }
    if (!complaint.began) complaint.text.clear();  // earlier jobs have said it
    return complaint;
}

Complaint complaint_of(const std::filesystem::path& log, const std::string& job) {
    const std::uintmax_t size = size_of(log), from = size > most_read ? size - most_read : 0;
    return complaint_in(read_from(log, from), job, from > 0);
}

LogWarnings::LogWarnings(std::filesystem::path log) : log_(std::move(log)), position_(size_of(log_)) {}

std::vector<std::string> LogWarnings::read() {
    std::vector<std::string> warnings;
    if (size_of(log_) <= position_) return warnings;
    const std::string text = read_from(log_, position_);
    const auto end = text.rfind('\n');
    // A line that fills all that is read at once is no warning.
    position_ += end != std::string::npos ? end + 1 : text.size() == most_read ? text.size() : 0;
    for (const std::string_view line : whole_lines(text))
        if (line.starts_with(warning_prefix)) warnings.emplace_back(line.substr(warning_prefix.size()));
    return warnings;
}

}  // namespace hpo::slurm

#include "worker/training/tuning.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <system_error>
#include <vector>

#include "worker/training/checkpoint.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

constexpr double padding_costs = 1.15;  // times as long, at most, for what is padded to the least extent
constexpr double doubling_costs = 1.5;  // times as long, at most, for what is padded to the next power of two
constexpr double equally_fast = 1.05;   // times as long as the fastest part
constexpr std::int64_t usual_batch = 128, usual_width = 256;

using TimeOf = std::function<std::optional<double>(std::int64_t extent)>;

/// Measures powers of two from `first` to `last`, and ends where each further one costs its work: then nothing is idle.
PaddingBounds find_bounds(std::int64_t first, std::int64_t last, const PaddingBounds& guess, const TimeOf& time_of) {
    std::vector<double> times;
    for (std::int64_t extent = first; extent <= last; extent *= 2) {
        const auto time = time_of(extent);
        if (!time || *time <= 0) break;
        times.push_back(*time);
        const std::size_t n = times.size();
        if (n > 2 && times[n - 1] > doubling_costs * times[n - 2] && times[n - 2] > doubling_costs * times[n - 3])
            break;
    }
    if (times.size() < 2) return guess;
    // A larger extent that took less time shows that the smaller one was held up.
    for (std::size_t i = times.size() - 1; i > 0; --i) times[i - 1] = std::min(times[i - 1], times[i]);
    std::size_t least = 0;
    while (least + 1 < times.size() && times[least + 1] <= padding_costs * times[0]) ++least;
    std::size_t coarse = least;
    while (coarse + 1 < times.size() && times[coarse + 1] <= doubling_costs * times[coarse]) ++coarse;
    const std::int64_t found = first << coarse;
    const bool open_end = coarse + 1 == times.size() && found < last;  // what is larger could not be measured
    return {first << least, open_end ? std::max(found, guess.coarse) : found};
}

/// The smallest part that is about as fast as the fastest one: more memory gains nothing. 0: not measured.
std::int64_t find_part(const TimeOf& time_of) {
    std::vector<std::pair<std::int64_t, double>> times;
    for (std::int64_t bytes = std::int64_t{1} << 21; bytes <= std::int64_t{1} << 27; bytes *= 2)
        if (const auto time = time_of(bytes); time && *time > 0) times.emplace_back(bytes, *time);
    const auto fastest =
        std::min_element(times.begin(), times.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    for (const auto& [bytes, time] : times)
        if (time <= equally_fast * fastest->second) return bytes;
    return 0;
}

bool is_power_of_two(std::int64_t number) {
    return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

bool are_bounds(const PaddingBounds& bounds) {
    return is_power_of_two(bounds.least) && is_power_of_two(bounds.coarse) && bounds.least <= bounds.coarse &&
           bounds.coarse <= std::int64_t{1} << 20;
}

std::string file_text(const Tuning& tuning, const std::string& identity) {
    std::ostringstream out;
    const auto& [batches, widths] = tuning.buckets;
    out << "batches " << batches.least << ' ' << batches.coarse << "\nwidths " << widths.least << ' ' << widths.coarse
        << "\nparts " << tuning.part_bytes << "\nupdates " << tuning.backward_updates << "\n"
        << identity << "\n";
    return out.str();
}

/// Nothing: the text is not one of file_text.
std::optional<Tuning> read_tuning(const std::string& text) {
    std::istringstream in(text);
    std::string batches, widths, parts, updates;
    Tuning read;
    BucketBounds& buckets = read.buckets;
    in >> batches >> buckets.batches.least >> buckets.batches.coarse >> widths >> buckets.widths.least >>
        buckets.widths.coarse >> parts >> read.part_bytes >> updates >> read.backward_updates;
    const bool whole = in && batches == "batches" && widths == "widths" && parts == "parts" && updates == "updates";
    if (!whole || !are_bounds(buckets.batches) || !are_bounds(buckets.widths)) return std::nullopt;
    for (const std::int64_t number : {read.part_bytes, read.backward_updates})
        if (number != 0 && !is_power_of_two(number)) return std::nullopt;
    return read;
}

/// An open file that other processes wait for.
class LockedFile {
   public:
    explicit LockedFile(const fs::path& path) : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
        if (file_ >= 0 && flock(file_, LOCK_EX) != 0) {
            close(file_);
            file_ = -1;
        }
    }
    ~LockedFile() {
        if (file_ >= 0) close(file_);
    }
    LockedFile(const LockedFile&) = delete;
    LockedFile& operator=(const LockedFile&) = delete;

    [[nodiscard]] bool is_open() const { return file_ >= 0; }
    [[nodiscard]] std::string read() const {
        std::array<char, 256> text{};  // what follows is for people
        const ssize_t bytes = pread(file_, text.data(), text.size(), 0);
        return {text.data(), static_cast<std::size_t>(std::max<ssize_t>(0, bytes))};
    }
    [[nodiscard]] bool write(const std::string& text) const {
        return ftruncate(file_, 0) == 0 &&
               pwrite(file_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    }

   private:
    int file_;
};

}  // namespace

Tuning find_tuning(const TuningTimes& times) {
    Tuning found;
    BucketBounds& buckets = found.buckets;
    buckets.batches =
        find_bounds(8, 4096, buckets.batches, [&](std::int64_t batch) { return times.update(batch, usual_width); });
    buckets.widths =
        find_bounds(16, 2048, buckets.widths, [&](std::int64_t width) { return times.update(usual_batch, width); });
    for (std::int64_t batch = 8; batch <= 1024; batch *= 2) {
        const auto after = times.update(batch, usual_width), within = times.update_in_backward(batch);
        if (!after || !within || *within >= *after) break;
        found.backward_updates = batch;
    }
    found.part_bytes = find_part(times.convolution);
    return found;
}

Tuning kept_tuning(const fs::path& folder, const std::string& identity, const std::function<Tuning()>& find) {
    if (folder.empty()) return {};
    std::error_code failed;
    fs::create_directories(folder, failed);
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "tuning-%016llx",
                  static_cast<unsigned long long>(checkpoint_binding("tuning 1\n" + identity)));
    const LockedFile file(folder / name.data());
    if (!file.is_open()) return {};
    if (const auto kept = read_tuning(file.read())) return *kept;
    const Tuning found = find();
    return file.write(file_text(found, identity)) ? found : Tuning{};
}

std::string to_text(const Tuning& tuning) {
    const auto bounds = [](const PaddingBounds& one) {
        return std::to_string(one.least) + " (three quarters of a power of two above " + std::to_string(one.coarse) +
               ")";
    };
    return "batches are padded to at least " + bounds(tuning.buckets.batches) + ", widths to at least " +
           bounds(tuning.buckets.widths) +
           (tuning.part_bytes > 0 ? ", parts of convolutions take " + std::to_string(tuning.part_bytes >> 20) + " MiB"
                                  : "") +
           (tuning.backward_updates > 0 ? ", weights are updated in the backward pass at batches of up to " +
                                              std::to_string(tuning.backward_updates)
                                        : "");
}

}  // namespace hpo

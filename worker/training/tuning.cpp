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

constexpr double padding_costs = 1.15;  // times as long, at most, when padded to the least extent
constexpr double doubling_costs = 1.5;  // times as long, at most, when padded to the next power of two
constexpr double equally_fast = 1.05;   // times as long as the fastest part
constexpr std::int64_t usual_batch = 128, usual_width = 256;

using TimeOf = std::function<std::optional<double>(std::int64_t extent)>;

/// Measures powers of two from `first` to `last`, and ends where each further one costs its work: then nothing is idle.
std::vector<double> times_of_doublings(std::int64_t first, std::int64_t last, const TimeOf& time_of) {
    std::vector<double> times;
    for (std::int64_t extent = first; extent <= last; extent *= 2) {
        const auto time = time_of(extent);
        if (!time || *time <= 0) break;
        times.push_back(*time);
        const std::size_t n = times.size();
        if (n > 2 && times[n - 1] > doubling_costs * times[n - 2] && times[n - 2] > doubling_costs * times[n - 3])
            break;
    }
    // A larger extent that took less time shows that the smaller one was held up.
    for (std::size_t i = times.size(); i > 1; --i) times[i - 2] = std::min(times[i - 2], times[i - 1]);
    return times;
}

PaddingBounds find_bounds(std::int64_t first, std::int64_t last, const PaddingBounds& guess, const TimeOf& time_of) {
    const std::vector<double> times = times_of_doublings(first, last, time_of);
    if (times.size() < 2) return guess;
    std::size_t least = 0;
    while (least + 1 < times.size() && times[least + 1] <= padding_costs * times[0]) ++least;
    std::size_t coarse = least;
    while (coarse + 1 < times.size() && times[coarse + 1] <= doubling_costs * times[coarse]) ++coarse;
    const std::int64_t found = first << coarse;
    const bool open_end = coarse + 1 == times.size() && found < last;  // larger ones could not be measured
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

/// Returns the number of rows at which a product computes half as many rows per second as at the fastest number of
/// rows, interpolated between two measured numbers. 0: not measured.
std::int64_t find_half_speed(const TimeOf& time_of) {
    constexpr std::int64_t first = 16, last = 8192;
    const std::vector<double> times = times_of_doublings(first, last, time_of);
    if (times.size() < 3) return 0;
    std::vector<double> speeds;
    for (std::size_t i = 0; i < times.size(); ++i) speeds.push_back(static_cast<double>(first << i) / times[i]);
    const double half = *std::max_element(speeds.begin(), speeds.end()) / 2;
    std::size_t above = 0;
    while (speeds[above] < half) ++above;
    if (above == 0) return first;
    const auto below = static_cast<double>(first << (above - 1));
    const double share = (half - speeds[above - 1]) / (speeds[above] - speeds[above - 1]);
    return static_cast<std::int64_t>(below * (1 + share));
}

bool is_power_of_two(std::int64_t number) {
    return number > 0 && std::has_single_bit(static_cast<std::uint64_t>(number));
}

bool are_bounds(const PaddingBounds& bounds) {
    return is_power_of_two(bounds.least) && is_power_of_two(bounds.coarse) && bounds.least <= bounds.coarse &&
           bounds.coarse <= std::int64_t{1} << 20;
}

/// The measurements of one session.
struct Attempt {
    std::uint64_t session = 0;
    FoundTuning found;
};

std::string file_text(const std::vector<Attempt>& attempts, const std::string& identity) {
    std::ostringstream out;
    for (const auto& [session, found] : attempts) {
        const auto& [batches, widths] = found.tuning.buckets;
        out << (found.complete ? "complete " : "cut-off ") << session << " times " << found.measured << " batches "
            << batches.least << ' ' << batches.coarse << " widths " << widths.least << ' ' << widths.coarse << " parts "
            << found.tuning.part_bytes << " updates " << found.tuning.backward_updates << " rows "
            << found.tuning.rows_at_half_speed << '\n';
    }
    out << identity << '\n';
    return out.str();
}

/// Reads a line of file_text. Nothing: the line is of another form.
std::optional<Attempt> read_attempt(const std::string& line) {
    std::istringstream in(line);
    std::string state, times, batches, widths, parts, updates, rows;
    Attempt read;
    Tuning& tuning = read.found.tuning;
    BucketBounds& buckets = tuning.buckets;
    in >> state >> read.session >> times >> read.found.measured >> batches >> buckets.batches.least >>
        buckets.batches.coarse >> widths >> buckets.widths.least >> buckets.widths.coarse >> parts >>
        tuning.part_bytes >> updates >> tuning.backward_updates >> rows >> tuning.rows_at_half_speed;
    read.found.complete = state == "complete";
    const bool whole = in && (read.found.complete || state == "cut-off") && times == "times" && batches == "batches" &&
                       widths == "widths" && parts == "parts" && updates == "updates" && rows == "rows" &&
                       tuning.rows_at_half_speed >= 0;
    if (!whole || !are_bounds(buckets.batches) || !are_bounds(buckets.widths)) return std::nullopt;
    for (const std::int64_t number : {tuning.part_bytes, tuning.backward_updates})
        if (number != 0 && !is_power_of_two(number)) return std::nullopt;
    return read;
}

std::vector<Attempt> read_attempts(const std::string& text) {
    std::istringstream in(text);
    std::vector<Attempt> attempts;
    for (std::string line; attempts.size() < most_tuning_attempts && std::getline(in, line);) {
        auto attempt = read_attempt(line);
        if (!attempt) break;
        attempts.push_back(*attempt);
    }
    return attempts;
}

/// The attempt that counts for this session; null: it must measure.
const Attempt* valid_attempt(const std::vector<Attempt>& attempts, std::uint64_t session) {
    const auto own = std::find_if(attempts.begin(), attempts.end(),
                                  [&](const Attempt& one) { return session != 0 && one.session == session; });
    if (own != attempts.end()) return &*own;
    const auto complete =
        std::find_if(attempts.begin(), attempts.end(), [](const Attempt& one) { return one.found.complete; });
    if (complete != attempts.end()) return &*complete;
    if (attempts.size() < most_tuning_attempts) return nullptr;
    return &*std::max_element(attempts.begin(), attempts.end(),
                              [](const Attempt& a, const Attempt& b) { return a.found.measured < b.found.measured; });
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
        std::array<char, 1024> text{};  // the rest is for people
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

FoundTuning find_tuning(const TuningTimes& times) {
    FoundTuning result;
    const auto counted = [&](std::optional<double> time) {
        result.measured += time ? 1 : 0;
        return time;
    };
    const auto update = [&](std::int64_t batch, std::int64_t width) { return counted(times.update(batch, width)); };
    Tuning& found = result.tuning;
    BucketBounds& buckets = found.buckets;
    buckets.batches =
        find_bounds(8, 4096, buckets.batches, [&](std::int64_t batch) { return update(batch, usual_width); });
    buckets.widths =
        find_bounds(16, 2048, buckets.widths, [&](std::int64_t width) { return update(usual_batch, width); });
    for (std::int64_t batch = 8; batch <= 1024; batch *= 2) {
        const auto after = update(batch, usual_width), within = counted(times.update_in_backward(batch));
        if (!after || !within || *within >= *after) break;
        found.backward_updates = batch;
    }
    found.rows_at_half_speed = find_half_speed([&](std::int64_t rows) { return counted(times.product(rows)); });
    found.part_bytes = find_part([&](std::int64_t bytes) { return counted(times.convolution(bytes)); });
    result.complete = !times.cut_off();
    return result;
}

FoundTuning kept_tuning(const fs::path& folder, const std::string& identity, const std::string& session,
                        const std::function<FoundTuning()>& find) {
    if (folder.empty()) return {};
    std::error_code failed;
    fs::create_directories(folder, failed);
    std::array<char, 32> name{};
    std::snprintf(name.data(), name.size(), "tuning-%016llx",
                  static_cast<unsigned long long>(checkpoint_binding("tuning 3\n" + identity)));
    const LockedFile file(folder / name.data());
    if (!file.is_open()) return {};
    const std::uint64_t number = session.empty() ? 0 : checkpoint_binding(session);
    std::vector<Attempt> attempts = read_attempts(file.read());
    const Attempt* valid = valid_attempt(attempts, number);
    if (valid == nullptr) {
        attempts.push_back({number, find()});
        if (!file.write(file_text(attempts, identity))) return {};
        valid = &attempts.back();
    }
    FoundTuning found = valid->found;
    found.again = !found.complete && attempts.size() < most_tuning_attempts;
    return found;
}

std::string to_text(const FoundTuning& found) {
    const Tuning& tuning = found.tuning;
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
                                        : "") +
           (tuning.rows_at_half_speed > 0
                ? ", products reach half of their speed with " + std::to_string(tuning.rows_at_half_speed) + " rows"
                : "") +
           (found.complete ? ""
            : found.again ? "; the time for measuring was over before all was measured: the next session measures again"
                          : "; the device is too slow to measure the rest");
}

}  // namespace hpo

#include "worker/data/data_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "hpo/printable.hpp"
#include "hpo/text.hpp"

namespace hpo {

std::string shown_name(std::string_view name) {
    constexpr std::size_t most = 40;
    return printable(std::string(name.substr(0, most))) + (name.size() > most ? "..." : "");
}

std::string quoted_name(std::string_view name) { return "\"" + shown_name(name) + "\""; }

bool is_utf8(std::string_view text) {
    while (!text.empty()) {
        std::uint32_t code = 0;
        const std::size_t length = detail::utf8_sequence(text, code);
        if (length == 0) return false;
        text.remove_prefix(length);
    }
    return true;
}

namespace {

constexpr int short_digits = 6;

}  // namespace

std::string short_text(double number) { return with_digits(number, short_digits); }

std::string range_text(double low, double high) {
    int digits = short_digits;
    const auto are_told_apart = [&] { return low == high || with_digits(low, digits) != with_digits(high, digits); };
    const auto is_whole = [](double number) { return number == std::floor(number) && std::abs(number) < 1e15; };
    if (!are_told_apart() && is_whole(low) && is_whole(high))
        return std::to_string(static_cast<std::int64_t>(low)) + " to " +
               std::to_string(static_cast<std::int64_t>(high));
    while (!are_told_apart() && digits < std::numeric_limits<double>::max_digits10) ++digits;
    return with_digits(low, digits) + " to " + with_digits(high, digits);
}

namespace {

/// "classes: a (120, 12 %), b (880, 88 %)".
std::string shares_text(const std::string& title, const std::vector<ClassCount>& counts, std::int64_t all) {
    NameList names;
    for (const ClassCount& one : counts)
        names.add(one.name,
                  grouped(one.count) + ", " +
                      short_text(std::round(1000 * static_cast<double>(one.count) / static_cast<double>(all)) / 10) +
                      " %");
    return names.line(title.c_str());
}

}  // namespace

std::string classes_text(std::vector<ClassCount> classes) {
    std::int64_t all = 0;
    for (const ClassCount& one : classes) all += one.count;
    std::stable_sort(classes.begin(), classes.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
    return shares_text(std::to_string(classes.size()) + " classes", classes, all);
}

std::string rare_classes_text(const std::vector<ClassCount>& classes, const char* samples) {
    NameList rare;
    for (const ClassCount& one : classes)
        if (one.count < 3) rare.add(one.name, grouped(one.count));
    if (rare.empty()) return "";
    return "warning: " + rare.line(("with fewer than 3 " + std::string(samples) +
                                    ", not in each of the training, validation and test parts")
                                       .c_str());
}

std::string labels_text(const std::vector<ClassCount>& labels, std::int64_t samples) {
    return shares_text(counted(static_cast<std::int64_t>(labels.size()), "label"), labels, samples);
}

void NameList::add(std::string_view name, const std::string& remark) {
    if (++count_ > most) return;
    text_ += (text_.empty() ? "" : ", ") + shown_name(name) + (remark.empty() ? "" : " (" + remark + ")");
}

std::string NameList::line(const char* title) const {
    return std::string(title) + ": " + text_ + (count_ > most ? " and " + std::to_string(count_ - most) + " more" : "");
}

}  // namespace hpo

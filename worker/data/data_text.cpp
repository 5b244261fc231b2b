#include "worker/data/data_text.hpp"

#include <cstdio>

#include "hpo/printable.hpp"

namespace hpo {

std::string shown_name(std::string_view name) {
    constexpr std::size_t most = 40;
    return printable(std::string(name.substr(0, most))) + (name.size() > most ? "..." : "");
}

std::string quoted_name(std::string_view name) { return "\"" + shown_name(name) + "\""; }

std::string grouped(std::int64_t number) {
    std::string digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

std::string short_text(double number) {
    char text[40];
    std::snprintf(text, sizeof text, "%.6g", number);
    return text;
}

void NameList::add(std::string_view name, const std::string& remark) {
    if (++count_ > most) return;
    text_ += (text_.empty() ? "" : ", ") + shown_name(name) + (remark.empty() ? "" : " (" + remark + ")");
}

std::string NameList::line(const char* title) const {
    return std::string(title) + ": " + text_ + (count_ > most ? " and " + std::to_string(count_ - most) + " more" : "");
}

}  // namespace hpo

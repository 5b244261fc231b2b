#include "orchestrator/page/packed.hpp"

#include <algorithm>
#include <bit>

namespace hpo::page {

namespace {

static_assert(std::endian::native == std::endian::little, "the page reads little-endian numbers");

template <class T>
Json bytes_of(const char* type, std::span<const T> numbers) {
    const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(T));
    // A quantity that was never measured, such as a GPU's memory, or that never varies.
    const bool same = numbers.size() > 8 && bytes.substr(sizeof(T)) == bytes.substr(0, bytes.size() - sizeof(T));
    if (same) return {{"type", type}, {"data", base64(bytes.substr(0, sizeof(T)))}, {"times", numbers.size()}};
    return {{"type", type}, {"data", base64(bytes)}};
}

template <class T>
Json narrowed(const char* type, std::span<const std::uint32_t> numbers) {
    const std::vector<T> narrow(numbers.begin(), numbers.end());
    return bytes_of<T>(type, narrow);
}

}  // namespace

std::string base64(std::string_view bytes) {
    constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t i = 0; i < bytes.size(); i += 3) {
        std::uint32_t group = 0;
        for (std::size_t j = i; j < i + 3; ++j)
            group = group << 8 | (j < bytes.size() ? static_cast<std::uint8_t>(bytes[j]) : 0U);
        const std::size_t known = std::min<std::size_t>(3, bytes.size() - i);
        for (std::size_t digit = 0; digit < 4; ++digit)
            text += digit <= known ? digits[group >> (18 - 6 * digit) & 63] : '=';
    }
    return text;
}

Json packed(std::span<const double> numbers) { return bytes_of("f64", numbers); }
Json packed(std::span<const float> numbers) { return bytes_of("f32", numbers); }

Json packed(std::span<const std::uint32_t> numbers) {
    const std::uint32_t most = numbers.empty() ? 0 : *std::max_element(numbers.begin(), numbers.end());
    if (most <= std::numeric_limits<std::uint8_t>::max()) return narrowed<std::uint8_t>("u8", numbers);
    if (most <= std::numeric_limits<std::uint16_t>::max()) return narrowed<std::uint16_t>("u16", numbers);
    return bytes_of("u32", numbers);
}

void TextColumn::add(std::string_view text) {
    const auto found = index_.find(text);
    if (found != index_.end()) {
        column_.push_back(found->second);
        return;
    }
    const auto next = static_cast<std::uint32_t>(texts_.size());
    texts_.emplace_back(text);
    index_.emplace(text, next);
    column_.push_back(next);
}

Json TextColumn::json() const {
    Json json{{"texts", texts_}};
    json.update(packed(column_));
    return json;
}

}  // namespace hpo::page

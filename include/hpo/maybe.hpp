// A number that may be absent, in the space of the number.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <type_traits>

namespace hpo {

/// std::optional of a double or an integer with half its size: the least integer, and one of 2^52 NaNs, mean absence.
template <class T>
requires std::is_same_v<T, double> || std::is_same_v<T, std::int64_t>
class Maybe {
   public:
    using value_type = T;

    constexpr Maybe() = default;
    constexpr Maybe(std::nullopt_t) {}           // NOLINT: as std::optional
    constexpr Maybe(T value) : value_(value) {}  // NOLINT
    template <class U>
    requires std::is_arithmetic_v<U> &&(!std::is_same_v<U, T>)constexpr Maybe(U value)
        : value_(static_cast<T>(value)) {}                                                 // NOLINT
    constexpr Maybe(const std::optional<T>& value) : value_(value ? *value : absent()) {}  // NOLINT

    [[nodiscard]] constexpr bool has_value() const {
        return std::bit_cast<std::uint64_t>(value_) != std::bit_cast<std::uint64_t>(absent());
    }
    constexpr explicit operator bool() const { return has_value(); }
    constexpr operator std::optional<T>() const {  // NOLINT: as std::optional
        return has_value() ? std::optional<T>(value_) : std::nullopt;
    }
    constexpr const T& operator*() const { return value_; }
    constexpr T& operator*() { return value_; }
    [[nodiscard]] constexpr const T& value() const {
        if (!has_value()) throw std::bad_optional_access();
        return value_;
    }
    [[nodiscard]] constexpr T value_or(T otherwise) const { return has_value() ? value_ : otherwise; }
    constexpr T& emplace() { return value_ = T{}; }
    constexpr void reset() { value_ = absent(); }

    friend constexpr bool operator==(const Maybe& a, const Maybe& b) {
        return a.has_value() == b.has_value() && (!a.has_value() || a.value_ == b.value_);
    }
    friend constexpr bool operator==(const Maybe& a, const std::optional<T>& b) { return a == Maybe(b); }
    friend constexpr bool operator==(const Maybe& a, std::nullopt_t) { return !a.has_value(); }
    friend constexpr bool operator==(const Maybe& a, T b) { return a.has_value() && a.value_ == b; }

   private:
    static constexpr T absent() {
        if constexpr (std::is_same_v<T, double>)
            return std::bit_cast<double>(std::uint64_t{0x7ff8'dead'7ff8'dead});
        else
            return std::numeric_limits<T>::min();
    }
    T value_ = absent();
};

}  // namespace hpo

// Result<T>: what may be expected to fail. Fatal: what may not (caught in main alone).
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace hpo {

/// A failure a caller is expected to handle: one sentence that names the place and, where there is one, the cure.
struct Error {
    std::string message;
};

/// Either a T or an Error. Access to the side that is not there throws std::bad_variant_access: a bug, not an input.
template <class T>
class [[nodiscard]] Result {
   public:
    Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}

    explicit operator bool() const { return state_.index() == 0; }
    [[nodiscard]] bool ok() const { return state_.index() == 0; }

    T& operator*() & { return std::get<0>(state_); }
    const T& operator*() const& { return std::get<0>(state_); }
    T&& operator*() && { return std::get<0>(std::move(state_)); }
    T* operator->() { return &std::get<0>(state_); }
    const T* operator->() const { return &std::get<0>(state_); }
    [[nodiscard]] const Error& error() const { return std::get<1>(state_); }

   private:
    std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
   public:
    Result() = default;
    Result(Error error) : failed_(true), error_(std::move(error)) {}

    explicit operator bool() const { return !failed_; }
    [[nodiscard]] bool ok() const { return !failed_; }
    [[nodiscard]] const Error& error() const { return error_; }

   private:
    bool failed_ = false;
    Error error_;
};

/// Ends the program with `exit_code` and `what()` on stderr. Thrown anywhere, caught in main's caller alone.
class Fatal : public std::runtime_error {
   public:
    explicit Fatal(const std::string& message, int exit_code = 1) : std::runtime_error(message), code_(exit_code) {}
    [[nodiscard]] int exit_code() const { return code_; }

   private:
    int code_;
};

/// A Fatal whose message says of itself where it comes from (`file:line:column: ...`).
class Refusal : public Fatal {
   public:
    using Fatal::Fatal;
};

/// std::visit over lambdas.
template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace hpo

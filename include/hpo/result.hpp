// Errors: Result<T> for failures that a caller must expect, and the exception Fatal for failures that end the program.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace hpo {

/// A failure that the caller is expected to handle.
struct Error {
    /// One sentence with the location and, if there is one, the cure.
    std::string message;
};

/// Either a T or an Error. Access to the absent one throws std::bad_variant_access, which is a bug.
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

/// Ends the program with `exit_code` and prints `what()` to stderr. It may be thrown anywhere and is caught only at the
/// top of the program.
class Fatal : public std::runtime_error {
   public:
    explicit Fatal(const std::string& message, int exit_code = 1) : std::runtime_error(message), code_(exit_code) {}
    [[nodiscard]] int exit_code() const { return code_; }

   private:
    int code_;
};

/// A Fatal whose message begins with a location (`file:line:column: ...`), so that no program name is put before it.
class Refusal : public Fatal {
   public:
    using Fatal::Fatal;
};

/// Combines lambdas to a visitor for std::visit.
template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

}  // namespace hpo

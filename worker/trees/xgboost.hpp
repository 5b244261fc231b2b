// XGBoost (Chen and Guestrin 2016) by its C interface, loaded at run time: nothing else needs the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hpo {

/// A training matrix of XGBoost.
class TreeMatrix {
   public:
    /// Copies features [rows, columns]. Uses `threads` threads. Throws InvalidTrial where the library is missing, and
    /// std::runtime_error with the library's message.
    TreeMatrix(std::span<const float> features, std::int64_t columns, int threads);
    TreeMatrix(TreeMatrix&&) = default;
    TreeMatrix& operator=(TreeMatrix&&) = default;

    /// One number for each row: a class, a label of 0 or 1, or the number to predict.
    void set_targets(std::span<const float> targets);
    /// Sets the weight of each row in the loss.
    void set_weights(std::span<const float> weights);
    [[nodiscard]] std::int64_t rows() const { return rows_; }
    [[nodiscard]] void* handle() const { return handle_.get(); }

   private:
    struct Free {
        void operator()(void* handle) const;
    };
    std::unique_ptr<void, Free> handle_;
    std::int64_t rows_ = 0;
};

/// An ensemble of trees that grows by a round at a time. One thread makes it, uses it and destroys it: the library
/// keeps the outputs for the matrices by thread, under the address of the ensemble. All functions throw
/// std::runtime_error with the library's message.
class Booster {
   public:
    using Setting = std::pair<std::string, std::string>;

    /// Creates a booster for training on `train`; outputs for the matrices of `evaluated` are updated rather than
    /// computed again. All must outlive it.
    Booster(std::vector<Setting> settings, const TreeMatrix& train, std::span<const TreeMatrix* const> evaluated);

    /// Takes over a state of state(); the settings stay.
    void restore(std::span<const std::byte> state);
    [[nodiscard]] std::vector<std::byte> state() const;

    /// Forgets how samples and features were drawn, which state() does not hold: from here on the draws depend on the
    /// seed and the round alone.
    void draw_anew();
    void set_threads(int threads);
    /// Grows the trees of round `round`, which counts from 0.
    void grow(std::int64_t round);
    /// Appends the margins [rows, groups] of the first `rounds` rounds (0: of all) to `to`.
    void predict(const TreeMatrix& matrix, std::int64_t rounds, std::vector<float>& to) const;
    /// The ensemble as the library writes it.
    [[nodiscard]] std::string json() const;

   private:
    struct Free {
        void operator()(void* handle) const;
    };
    void set(const std::string& name, const std::string& value);

    std::unique_ptr<void, Free> handle_;
    std::vector<Setting> settings_;
    const TreeMatrix* train_;
};

/// Returns why no trees can be grown here, with the cure; empty: they can.
const std::string& missing_xgboost();
/// Returns the file of the library; empty: it is missing.
std::string xgboost_file();

}  // namespace hpo

#include "worker/trees/xgboost.hpp"

#include <limits>
#include <stdexcept>

#include "worker/backends/library.hpp"
#include "worker/data/memory.hpp"
#include "worker/training/worker_context.hpp"

namespace hpo {
namespace {

using Long = std::uint64_t;  // the library's bst_ulong

struct Functions {
    const char* (*last_error)() = nullptr;
    int (*register_log)(void (*)(const char*)) = nullptr;
    int (*matrix_create)(const float*, Long, Long, float, void**, int) = nullptr;
    int (*matrix_free)(void*) = nullptr;
    int (*matrix_set_floats)(void*, const char*, const float*, Long) = nullptr;
    int (*create)(void* const*, Long, void**) = nullptr;
    int (*free)(void*) = nullptr;
    int (*set)(void*, const char*, const char*) = nullptr;
    int (*settings)(void*, Long*, const char**) = nullptr;
    int (*update)(void*, int, void*) = nullptr;
    int (*predict)(void*, void*, const char*, const Long**, Long*, const float**) = nullptr;
    int (*serialize)(void*, Long*, const char**) = nullptr;
    int (*unserialize)(void*, const void*, Long) = nullptr;
    int (*save)(void*, const char*, Long*, const char**) = nullptr;
    std::string file;
    std::string problem;  ///< empty: all are there
};

Functions load() {
    Functions found;
    const auto library = Library::open({"libxgboost.so.0", "libxgboost.so"});
    if (!library) {
        found.problem =
            "model.type: trees are grown by XGBoost, whose library is not installed (apt install libxgboost0): " +
            library.error().message;
        return found;
    }
    found.file = library->file("XGBGetLastError").string();
    const auto find = [&](const char* name, auto& function) {
        if (!library->find(name, function) && found.problem.empty())
            found.problem = std::string("model.type: trees need XGBoost 1.6 or newer: the library has no ") + name;
    };
    find("XGBGetLastError", found.last_error);
    find("XGBRegisterLogCallback", found.register_log);
    find("XGDMatrixCreateFromMat_omp", found.matrix_create);
    find("XGDMatrixFree", found.matrix_free);
    find("XGDMatrixSetFloatInfo", found.matrix_set_floats);
    find("XGBoosterCreate", found.create);
    find("XGBoosterFree", found.free);
    find("XGBoosterSetParam", found.set);
    find("XGBoosterSaveJsonConfig", found.settings);
    find("XGBoosterUpdateOneIter", found.update);
    find("XGBoosterPredictFromDMatrix", found.predict);
    find("XGBoosterSerializeToBuffer", found.serialize);
    find("XGBoosterUnserializeFromBuffer", found.unserialize);
    find("XGBoosterSaveModelToBuffer", found.save);
    // Its warnings would stand in the logs of trials that cannot heed them.
    if (found.problem.empty()) found.register_log([](const char*) {});
    return found;
}

const Functions& loaded() {
    static const Functions functions = load();
    return functions;
}

/// Throws unless the library's function succeeded.
void check(int result) {
    if (result == 0) return;
    // The first line; a stack of the library's functions follows it.
    const std::string text = loaded().last_error();
    const std::string line = text.substr(0, text.find('\n'));
    if (text.find("bad_alloc") != std::string::npos) throw OutOfMemory("XGBoost: " + line);
    throw std::runtime_error("XGBoost: " + line);
}

}  // namespace

const std::string& missing_xgboost() { return loaded().problem; }

std::string xgboost_file() { return loaded().file; }

void TreeMatrix::Free::operator()(void* handle) const { loaded().matrix_free(handle); }

TreeMatrix::TreeMatrix(std::span<const float> features, std::int64_t columns, int threads)
    : rows_(static_cast<std::int64_t>(features.size()) / columns) {
    if (!missing_xgboost().empty()) throw InvalidTrial(missing_xgboost());
    void* made = nullptr;
    // Missing values are features of their own (see DataFacts::encoding), so that every number is one.
    constexpr float missing = std::numeric_limits<float>::quiet_NaN();
    check(loaded().matrix_create(features.data(), static_cast<Long>(rows_), static_cast<Long>(columns), missing, &made,
                                 threads));
    handle_.reset(made);
}

void TreeMatrix::set_targets(std::span<const float> targets) {
    check(loaded().matrix_set_floats(handle(), "label", targets.data(), targets.size()));
}

void TreeMatrix::set_weights(std::span<const float> weights) {
    check(loaded().matrix_set_floats(handle(), "weight", weights.data(), weights.size()));
}

void Booster::Free::operator()(void* handle) const { loaded().free(handle); }

Booster::Booster(std::vector<Setting> settings, const TreeMatrix& train, std::span<const TreeMatrix* const> evaluated)
    : settings_(std::move(settings)), train_(&train) {
    std::vector<void*> matrices{train.handle()};
    for (const TreeMatrix* matrix : evaluated) matrices.push_back(matrix->handle());
    void* made = nullptr;
    check(loaded().create(matrices.data(), matrices.size(), &made));
    handle_.reset(made);
    for (const auto& [name, value] : settings_) set(name, value);
}

void Booster::set(const std::string& name, const std::string& value) {
    check(loaded().set(handle_.get(), name.c_str(), value.c_str()));
}

void Booster::draw_anew() {
    // The draws belong to the part of the library that grows trees. It is created again, with default settings, if the
    // method changes, and the library takes a change in when it is asked for its settings.
    set("tree_method", "approx");
    Long size = 0;
    const char* settings = nullptr;
    check(loaded().settings(handle_.get(), &size, &settings));
    for (const auto& [name, value] : settings_) set(name, value);
}

void Booster::set_threads(int threads) {
    for (auto& [name, value] : settings_)
        if (name == "nthread") set(name, value = std::to_string(threads));
}

void Booster::restore(std::span<const std::byte> state) {
    check(loaded().unserialize(handle_.get(), state.data(), state.size()));
    // The state has settings, too: those of the threads that it was grown with.
    for (const auto& [name, value] : settings_) set(name, value);
}

std::vector<std::byte> Booster::state() const {
    Long size = 0;
    const char* bytes = nullptr;
    check(loaded().serialize(handle_.get(), &size, &bytes));
    const auto all = std::as_bytes(std::span(bytes, size));
    return {all.begin(), all.end()};
}

void Booster::grow(std::int64_t round) {
    check(loaded().update(handle_.get(), static_cast<int>(round), train_->handle()));
}

void Booster::predict(const TreeMatrix& matrix, std::int64_t rounds, std::vector<float>& to) const {
    const std::string settings = R"({"type": 1, "training": false, "strict_shape": true, "iteration_begin": 0, )"
                                 R"("iteration_end": )" +
                                 std::to_string(rounds) + "}";
    const Long* shape = nullptr;
    Long dimensions = 0;
    const float* numbers = nullptr;
    check(loaded().predict(handle_.get(), matrix.handle(), settings.c_str(), &shape, &dimensions, &numbers));
    std::size_t count = 1;
    for (Long i = 0; i < dimensions; ++i) count *= shape[i];
    to.insert(to.end(), numbers, numbers + count);
}

std::string Booster::json() const {
    Long size = 0;
    const char* bytes = nullptr;
    check(loaded().save(handle_.get(), R"({"format": "json"})", &size, &bytes));
    return {bytes, size};
}

}  // namespace hpo

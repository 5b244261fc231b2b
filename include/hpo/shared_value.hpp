// An immutable value that all copies share.
#pragma once

#include <memory>
#include <utility>

namespace hpo {

/// An unchangeable value that is shared with all copies. The default value takes no memory.
template <class T>
class SharedValue {
   public:
    SharedValue() = default;
    SharedValue(T value) : value_(std::make_shared<const T>(std::move(value))) {}  // NOLINT: as if it were the value

    const T& operator*() const {
        static const T none{};
        return value_ ? *value_ : none;
    }
    const T* operator->() const { return &**this; }

   private:
    std::shared_ptr<const T> value_;
};

}  // namespace hpo

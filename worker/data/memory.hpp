#pragma once

#include <memory>
#include <new>
#include <string>
#include <utility>

namespace hpo {

/// Thrown for want of memory: the trial does not fit now, which is no fault of its configuration. Any std::bad_alloc
/// means the same; this one tells the wanted bytes.
class OutOfMemory : public std::bad_alloc {
   public:
    explicit OutOfMemory(std::string message) : message_(std::make_shared<std::string>(std::move(message))) {}
    [[nodiscard]] const char* what() const noexcept override { return message_->c_str(); }

   private:
    std::shared_ptr<const std::string> message_;
};

}  // namespace hpo

#include "worker/training/background.hpp"

#include <utility>

#include "hpo/threads.hpp"

namespace hpo {

Background::~Background() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
}

void Background::enqueue(std::function<void()> job) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back(std::move(job));
        if (idle_ >= static_cast<int>(waiting_.size()) || static_cast<int>(threads_.size()) >= most_threads_)
            return changed_.notify_one();
        if (std::thread thread = start_thread("hpo-background", [this] { work(); }); thread.joinable())
            threads_.push_back(std::move(thread));
        if (!threads_.empty()) return;
        job = std::move(waiting_.back());
        waiting_.pop_back();
    }
    job();
}

void Background::work() {
    std::unique_lock lock(mutex_);
    for (;;) {
        ++idle_;
        changed_.wait(lock, [&] { return ending_ || !waiting_.empty(); });
        --idle_;
        if (waiting_.empty()) return;
        const std::function<void()> job = std::move(waiting_.front());
        waiting_.pop_front();
        lock.unlock();
        job();
        lock.lock();
    }
}

}  // namespace hpo

#include "worker/training/background.hpp"

#include <csignal>
#include <system_error>
#include <utility>

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
        // A signal is for the thread that trains.
        sigset_t all;
        sigset_t before;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &before);
        try {
            threads_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
        }
        pthread_sigmask(SIG_SETMASK, &before, nullptr);
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

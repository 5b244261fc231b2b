// Threads for work that the training thread should not wait for: checksums and files of checkpoints.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace hpo {

/// Starts jobs in the order of their arrival. With one thread, each ends before the next begins.
class Background {
   public:
    explicit Background(int most_threads) : most_threads_(most_threads) {}
    /// Finishes all jobs.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Starts the job on a thread, which is created when it is needed. The future has the job's result or exception. If
    /// the system has no thread left, runs the job in the caller.
    template <class Job>
    auto start(Job job) {
        auto task = std::make_shared<std::packaged_task<decltype(job())()>>(std::move(job));
        auto result = task->get_future();
        enqueue([task] { (*task)(); });
        return result;
    }

   private:
    void enqueue(std::function<void()> job);
    void work();

    const int most_threads_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::function<void()>> waiting_;
    int idle_ = 0;  ///< threads that wait for a job
    bool ending_ = false;
    std::vector<std::thread> threads_;
};

}  // namespace hpo

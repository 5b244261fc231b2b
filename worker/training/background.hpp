// Threads that do what the thread that trains should not wait for: checksums and files of checkpoints.
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

/// Jobs begin in the order in which they were given. With one thread, each also ends before the next one begins.
class Background {
   public:
    explicit Background(int most_threads) : most_threads_(most_threads) {}
    /// Finishes all jobs.
    ~Background();
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;

    /// Starts the job on a thread, of which there are none until they are needed. The future has what the job returns
    /// or throws. Where the system has no thread left, the job is done here.
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

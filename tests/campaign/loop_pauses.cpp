// A library for LD_PRELOAD: measures how long the loop of a program does not look for events, which is the time between
// two calls of epoll_wait() by its first thread. HPO_LOOP_PAUSES names a file, to which each pause is written at the
// end: the second of the monotonic clock in which it began, its length, and the part of it in which the thread neither
// computed nor waited for a core, or 0 if it never slept; the latter two in milliseconds.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

namespace {

double milliseconds_of(clockid_t clock) {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

class Pauses {
   public:
    Pauses() {
        if (const char* file = std::getenv("HPO_LOOP_PAUSES")) file_ = file;
        schedule_ = ::open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
        ::unsetenv("LD_PRELOAD");  // the children are not measured
        ::unsetenv("HPO_LOOP_PAUSES");
    }
    ~Pauses() {
        std::FILE* out = file_.empty() || all_.empty() ? nullptr : std::fopen((file_ + ".part").c_str(), "w");
        if (out == nullptr) return;
        for (const Pause& one : all_) std::fprintf(out, "%.6f %.3f %.3f\n", one.began / 1e3, one.took, one.blocked);
        std::fclose(out);
        std::rename((file_ + ".part").c_str(), file_.c_str());
    }

    void begin() { begun_ = now(); }
    void end() {
        if (begun_.wall == 0) return;
        const Times ended = now();
        const double took = ended.wall - begun_.wall;
        const double blocked = took - (ended.computed - begun_.computed) - (ended.queued - begun_.queued);
        all_.push_back({begun_.wall, took, ended.sleeps > begun_.sleeps ? blocked : 0});
    }

   private:
    struct Times {
        double wall = 0, computed = 0, queued = 0;
        long sleeps = 0;
    };
    struct Pause {
        double began, took, blocked;
    };
    [[nodiscard]] Times now() const {
        char text[96] = "";
        unsigned long long ignored = 0, queued = 0;
        if (schedule_ >= 0 && ::pread(schedule_, text, sizeof text - 1, 0) > 0)
            std::sscanf(text, "%llu %llu", &ignored, &queued);
        rusage used{};
        ::getrusage(RUSAGE_THREAD, &used);
        return {milliseconds_of(CLOCK_MONOTONIC), milliseconds_of(CLOCK_THREAD_CPUTIME_ID),
                static_cast<double>(queued) / 1e6, used.ru_nvcsw};
    }

    std::string file_;
    int schedule_ = -1;  ///< of the first thread: the time it has waited for a core
    Times begun_;
    std::vector<Pause> all_;
};

Pauses pauses;

}  // namespace

extern "C" int epoll_wait(int epoll, epoll_event* events, int most, int timeout) {
    static const auto real = reinterpret_cast<int (*)(int, epoll_event*, int, int)>(::dlsym(RTLD_NEXT, "epoll_wait"));
    const bool first = ::gettid() == ::getpid();
    if (first) pauses.end();
    const int ready = real(epoll, events, most, timeout);
    if (first) pauses.begin();
    return ready;
}

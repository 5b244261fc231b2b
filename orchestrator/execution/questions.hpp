// SIGQUIT asks a session why it waits, and ends nothing.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>

#include "hpo/descriptor.hpp"

namespace hpo {

/// Makes SIGQUIT a question until destruction, even if the process was started with SIGQUIT ignored. The activity that
/// keeps the process from its event loop (hpo/doing.hpp) is written to stderr at once, and so is the fact that the loop
/// left the last question unanswered. A process has at most one Questions at a time.
class Questions {
   public:
    /// Throws std::system_error if there are no descriptors left.
    Questions();
    ~Questions();
    Questions(const Questions&) = delete;
    Questions& operator=(const Questions&) = delete;

    /// Makes the loop call `answer` after each question until destruction.
    class Listener {
       public:
        Listener(Questions& questions, boost::asio::io_context& loop, std::function<void()> answer);
        ~Listener();
        Listener(const Listener&) = delete;
        Listener& operator=(const Listener&) = delete;

       private:
        void listen();

        boost::asio::posix::stream_descriptor asked_;
        std::function<void()> answer_;
        unsigned char bytes_[64] = {};
    };

   private:
    Descriptor read_end_;
};

}  // namespace hpo

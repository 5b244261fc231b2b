#include "orchestrator/engine/study_log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/rotating_file_sink.h>

#include <ctime>
#include <string>

namespace hpo {

namespace {

/// Formats the offset from UTC at the line's own time. spdlog's is up to ten seconds old, and an hour off after a
/// change to or from summer time.
class Offset final : public spdlog::custom_flag_formatter {
   public:
    void format(const spdlog::details::log_msg&, const std::tm& time, spdlog::memory_buf_t& line) override {
        char text[8];
        const std::size_t size = std::strftime(text, sizeof text, "%z", &time);
        line.append(text, text + size);
    }
    [[nodiscard]] std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<Offset>(); }
};

}  // namespace

std::shared_ptr<spdlog::logger> open_study_log(const std::filesystem::path& file) {
    constexpr std::size_t most_bytes = 16u << 20;  // then it becomes hpo.1.log, which is replaced
    auto log = std::make_shared<spdlog::logger>(
        "hpo", std::make_shared<spdlog::sinks::rotating_file_sink_mt>(file.string(), most_bytes, 1));
    auto pattern = std::make_unique<spdlog::pattern_formatter>();
    pattern->add_flag<Offset>('*').set_pattern("%Y-%m-%d %H:%M:%S.%e %* %^%l%$ %v");
    log->set_formatter(std::move(pattern));
    log->flush_on(spdlog::level::info);
    log->set_error_handler([](const std::string&) {});
    return log;
}

}  // namespace hpo

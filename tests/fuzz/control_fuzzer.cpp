// Fuzzes the control socket of a running study. Each line gets one line of JSON as its answer.
#include <cstdint>
#include <nlohmann/json.hpp>

#include "hpo/lines.hpp"
#include "orchestrator/engine/control.hpp"
#include "tests/fuzz/require.hpp"

using namespace hpo;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const ControlActions actions{
        [](std::int64_t trial) { return trial % 2 == 0 ? Result<void>() : Error{"it has ended"}; }, [] {},
        [] { return std::int64_t{2}; }};
    LineSplitter lines(4096);
    lines.feed({reinterpret_cast<const char*>(data), size}, [&](std::string_view line) {
        const std::string answer = answer_control(std::string(line), "fuzz", actions);
        require(answer.find('\n') == answer.size() - 1);
        const auto read = nlohmann::json::parse(answer, nullptr, false);
        require(read.is_object() && read["ok"].is_boolean() && read["ok"] != read.contains("error"));
    });
    return 0;
}

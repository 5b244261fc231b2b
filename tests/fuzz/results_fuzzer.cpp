// Fuzzes the reader of a study's acknowledged results (study.db-results). For any content of the file, a result that is
// named as missing is not held, and after the user was told, it is not named again. The sums of lines are made right in
// inputs of even size.
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "orchestrator/store/database_file.hpp"
#include "orchestrator/store/result_log.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

std::string with_right_sums(const std::string& text) {
    std::string right;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::string body = line.substr(0, line.rfind(' '));
        const std::int64_t sequence = std::strtoll(body.c_str(), nullptr, 10);
        right += body + ' ' + std::to_string(row_sum(sequence, body)) + '\n';
    }
    return right;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto database =
        std::filesystem::temp_directory_path() / ("fuzz-results-" + std::to_string(static_cast<int>(::getpid())));
    const std::string text(reinterpret_cast<const char*>(data), size);
    std::ofstream(database.string() + "-results", std::ios::binary) << (size % 2 == 0 ? with_right_sums(text) : text);
    const auto held = [](const StoredEnd& end) { return end.sequence % 3 == 0; };
    {
        ResultLog log(database);
        const auto missing = log.missing(held);
        for (const StoredEnd& end : missing) require(!held(end));
        require(missing.empty() == text_of(missing).empty());
        require(log.open(missing).ok());
        require(log.missing(held).empty());
    }
    remove_result_log(database);
    return 0;
}

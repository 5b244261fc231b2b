// Fuzzes the readers of a script's metrics. Memory must stay bounded, and the result must not depend on how the bytes
// are split into pieces. The first line chooses the reader: "#file", or up to four lines "#pattern P". Without either,
// the reader of the known forms of output is used.
#include <cmath>
#include <cstdint>
#include <vector>

#include "orchestrator/script/syntax/file_metrics.hpp"
#include "orchestrator/script/syntax/steps.hpp"
#include "tests/fuzz/require.hpp"

namespace {

using namespace hpo;

/// With `file`, the bytes are those of a file of metrics.
std::vector<Metrics> steps_of(std::unique_ptr<script::LineReader> reader, bool file, std::string_view bytes,
                              std::size_t piece) {
    script::StepReader steps(std::move(reader), {.objective = "loss"});
    script::FileMetrics metrics("loss");
    const script::FileMetrics::Record record = [&](const Metrics& one, std::string_view text) { steps.add(one, text); };
    std::vector<Metrics> found;
    const auto take = [&] {
        while (auto step = steps.take()) {
            require(step->metrics.contains("loss") && step->metrics.size() <= script::max_metrics);
            found.push_back(std::move(step->metrics));
        }
    };
    for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
        if (file)
            metrics.feed(bytes.substr(0, piece), record);
        else
            steps.feed(bytes.substr(0, piece));
        take();
    }
    if (file) metrics.finish(record);
    steps.finish();
    take();
    return found;
}

bool same(const std::vector<Metrics>& a, const std::vector<Metrics>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].size() != b[i].size()) return false;
        for (const auto& [name, number] : a[i]) {
            const auto other = b[i].find(name);
            if (other == b[i].end()) return false;
            if (other->second != number && !(std::isnan(other->second) && std::isnan(number))) return false;
        }
    }
    return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::string_view text(reinterpret_cast<const char*>(data), size);
    std::vector<std::string> patterns;
    const bool file = text.starts_with("#file\n");
    while (text.starts_with("#pattern ") && patterns.size() < 4) {
        const auto end = text.find('\n');
        patterns.emplace_back(text.substr(9, end == std::string_view::npos ? end : end - 9));
        text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
        if (!script::problem_of_pattern(patterns.back()).empty()) return 0;
    }
    const auto make = [&] {
        auto reader = script::make_output_reader(patterns);
        require(reader.ok());
        return std::move(*reader);
    };
    const auto whole = steps_of(make(), file, text, text.size() + 1);
    require(same(whole, steps_of(make(), file, text, 7)));
    return 0;
}

#include <charconv>

#include "orchestrator/study/sections.hpp"

namespace hpo::study {

namespace {

constexpr std::int64_t max_kept = 1000000;

/// Reads `all`, `none` or `best N` into `into`. Leaves it unchanged if the text is invalid.
void read_limit(Diagnostics& diagnostics, const Node& node, const std::string& path,
                std::optional<std::int64_t>& into) {
    const bool scalar = node.kind == Node::Kind::scalar;
    if (scalar && node.text == "all") return into.reset();
    if (scalar && node.text == "none") return void(into = 0);
    constexpr std::string_view best = "best ";
    if (scalar && node.text.starts_with(best)) {
        std::int64_t count = 0;
        const char* end = node.text.data() + node.text.size();
        const auto parsed = std::from_chars(node.text.data() + best.size(), end, count);
        if (parsed.ec == std::errc() && parsed.ptr == end && count >= 1 && count <= max_kept) return void(into = count);
    }
    diagnostics.error(node.location, "'" + path + "' must be all, none, or best and how many, such as best 5" +
                                         (scalar ? ", found " + printable(node.text) : ""));
}

}  // namespace

Keep read_keep(Diagnostics& diagnostics, const Node* node, bool native) {
    Keep keep;
    if (!native) keep.checkpoints.reset();  // a script's files belong to the user
    Fields fields(diagnostics, node, "keep", "checkpoints: best 5");
    if (const Node* n = fields.take("checkpoints")) read_limit(diagnostics, *n, "keep.checkpoints", keep.checkpoints);
    if (const Node* n = fields.take("folders")) read_limit(diagnostics, *n, "keep.folders", keep.folders);
    fields.finish();
    return keep;
}

std::string keep_text(const std::optional<std::int64_t>& limit) {
    return !limit ? "all" : *limit == 0 ? "none" : "best " + std::to_string(*limit);
}

}  // namespace hpo::study

#include "orchestrator/devices/property_list.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

namespace hpo {
namespace {

using Json = nlohmann::json;

constexpr int deepest = 64;  ///< nested containers; ioreg's have about ten

struct NoPropertyList : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Tag {
    std::string_view name;
    bool closing = false;
    bool empty = false;  ///< <true/>, which has no content
};

/// Replaces the entities that XML has by itself; others are left as they are.
std::string plain(std::string_view text) {
    constexpr std::pair<std::string_view, char> entities[] = {
        {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}, {"&amp;", '&'}};
    std::string out;
    while (!text.empty()) {
        std::size_t taken = 1;
        char c = text.front();
        for (const auto& [entity, meant] : entities)
            if (text.starts_with(entity)) {
                taken = entity.size();
                c = meant;
            }
        out += c;
        text.remove_prefix(taken);
    }
    return out;
}

class PropertyListReader {
   public:
    explicit PropertyListReader(std::string_view xml) : rest_(xml) {}

    Json whole() {
        Tag tag = next();
        if (tag.name == "plist" && !tag.closing) tag = next();
        return value(tag, 0);
    }

   private:
    /// Takes the next tag, past spaces, declarations and comments.
    Tag next() {
        for (;;) {
            const auto begin = rest_.find('<');
            if (begin == std::string_view::npos) throw NoPropertyList("it ends too early");
            rest_.remove_prefix(begin);
            const bool comment = rest_.starts_with("<!--");
            const std::string_view mark = comment ? "-->" : ">";
            const auto end = rest_.find(mark);
            if (end == std::string_view::npos) throw NoPropertyList("a tag does not end");
            std::string_view inner = rest_.substr(1, end - 1);
            rest_.remove_prefix(end + mark.size());
            if (comment || inner.starts_with('?') || inner.starts_with('!')) continue;
            Tag tag;
            if (inner.starts_with('/')) {
                tag.closing = true;
                inner.remove_prefix(1);
            }
            if (inner.ends_with('/')) {
                tag.empty = true;
                inner.remove_suffix(1);
            }
            tag.name = inner.substr(0, inner.find_first_of(" \t\r\n"));
            return tag;
        }
    }

    std::string content(const Tag& tag) {
        if (tag.empty) return {};
        const std::string end = "</" + std::string(tag.name) + ">";
        const auto found = rest_.find(end);
        if (found == std::string_view::npos) throw NoPropertyList("a value does not end");
        std::string text = plain(rest_.substr(0, found));
        rest_.remove_prefix(found + end.size());
        return text;
    }

    /// Counters of 64 bits may be written without a sign.
    static Json number(const std::string& text) {
        std::int64_t value = 0;
        const char* const end = text.data() + text.size();
        if (const auto read = std::from_chars(text.data(), end, value); read.ec == std::errc() && read.ptr == end)
            return value;
        std::uint64_t wide = 0;
        if (const auto read = std::from_chars(text.data(), end, wide); read.ec == std::errc() && read.ptr == end)
            return wide;
        throw NoPropertyList("an integer is none");
    }

    Json value(const Tag& tag, int depth) {
        if (tag.closing || depth > deepest) throw NoPropertyList("a value is missing or nested too deeply");
        if (tag.name == "true") return true;
        if (tag.name == "false") return false;
        if (tag.name == "integer") return number(content(tag));
        if (tag.name == "real") return std::strtod(content(tag).c_str(), nullptr);
        if (tag.name == "string" || tag.name == "data" || tag.name == "date") return content(tag);
        const bool list = tag.name == "array";
        if (!list && tag.name != "dict") throw NoPropertyList("an unknown kind of value");
        Json all = list ? Json::array() : Json::object();
        if (tag.empty) return all;
        for (;;) {
            const Tag inner = next();
            if (inner.closing && inner.name == tag.name) return all;
            if (list) {
                all.push_back(value(inner, depth + 1));
            } else {
                if (inner.name != "key" || inner.closing) throw NoPropertyList("a key is missing");
                std::string key = content(inner);
                all[std::move(key)] = value(next(), depth + 1);
            }
        }
    }

    std::string_view rest_;
};

}  // namespace

std::optional<Json> parse_property_list(std::string_view xml) {
    try {
        return PropertyListReader(xml).whole();
    } catch (const NoPropertyList&) {
        return std::nullopt;
    }
}

}  // namespace hpo

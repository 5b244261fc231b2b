#include "orchestrator/view/wrapped.hpp"

namespace hpo::view {

std::string wrapped(const std::string& text, std::size_t indent, std::size_t width) {
    std::string out;
    std::size_t column = indent;
    for (std::size_t at = 0; at < text.size();) {
        auto end = text.find(' ', at);
        if (end == std::string::npos) end = text.size();
        const std::size_t length = end - at;
        if (column > indent && column + 1 + length > width) {
            out += '\n' + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out += text.substr(at, length);
        column += length;
        at = end + 1;
    }
    return out;
}

}  // namespace hpo::view

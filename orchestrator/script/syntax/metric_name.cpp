#include "orchestrator/script/syntax/metric_name.hpp"

#include "orchestrator/script/syntax/numbers.hpp"

namespace hpo::script {

string metric_name_of(string_view name) {
    string fit;
    for (const char c : name) {
        const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;  // a character of UTF-8
        if (!continues) fit += is_name_byte(c) ? c : '_';
    }
    if (!fit.empty() && !is_letter(fit.front())) fit.insert(0, 1, '_');
    return fit.substr(0, max_name_bytes);
}

}  // namespace hpo::script

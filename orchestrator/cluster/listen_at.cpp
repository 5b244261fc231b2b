#include "orchestrator/cluster/listen_at.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "hpo/printable.hpp"

namespace hpo::cluster {

Result<ListenAt> parse_listen(std::string_view text) {
    ListenAt at;
    const Error wrong{"--listen " + printable(text) +
                      ": it takes an address of this host as a number, a port, or both: 10.0.0.5, :7000, "
                      "10.0.0.5:7000 or [fd00::5]:7000; a study goes before it: hpo run study.yaml --listen"};
    std::string_view address = text;
    const auto colon = text.rfind(':');
    const bool bracketed = text.starts_with('[');
    const bool bare_six = !bracketed && colon != text.npos && text.find(':') != colon;
    if (colon != text.npos && !bare_six && (!bracketed || text[colon - 1] == ']')) {
        const std::string_view port = text.substr(colon + 1);
        const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), at.port);
        if (port.empty() || error != std::errc() || end != port.data() + port.size()) return wrong;
        address = text.substr(0, colon);
    }
    if (bracketed) {
        if (!address.ends_with(']')) return wrong;
        address = address.substr(1, address.size() - 2);
        if (address.find(':') == address.npos) return wrong;
    }
    if (address.empty()) return at;
    boost::system::error_code error;
    at.address = std::string(address);
    boost::asio::ip::make_address(at.address, error);
    if (error) return wrong;
    return at;
}

}  // namespace hpo::cluster

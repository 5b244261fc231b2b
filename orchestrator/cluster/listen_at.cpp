#include "orchestrator/cluster/listen_at.hpp"

#include <boost/asio/ip/address.hpp>
#include <charconv>

#include "hpo/printable.hpp"

namespace hpo::cluster {

namespace {

bool port_of(std::string_view digits, std::uint16_t& port) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    return !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
}

}  // namespace

Result<ListenAt> parse_listen(std::string_view text) {
    ListenAt at;
    const Error wrong{"--listen " + printable(text) +
                      ": it takes an address of this host as a number, a port, or both: 10.0.0.5, 7000, "
                      "10.0.0.5:7000 or [fd00::5]:7000; a study goes before it: hpo run study.yaml --listen"};
    std::string_view address = text;
    const auto colon = text.rfind(':');
    const bool bracketed = text.starts_with('[');
    const bool bare_six = !bracketed && colon != text.npos && text.find(':') != colon;
    if (colon != text.npos && !bare_six && (!bracketed || text[colon - 1] == ']')) {
        if (!port_of(text.substr(colon + 1), at.port)) return wrong;
        address = text.substr(0, colon);
    }
    if (bracketed) {
        if (!address.ends_with(']')) return wrong;
        address = address.substr(1, address.size() - 2);
        if (address.find(':') == address.npos) return wrong;
    }
    if (address.empty()) return at;
    if (colon == text.npos && address.find_first_not_of("0123456789") == address.npos)
        return port_of(address, at.port) ? Result<ListenAt>(at) : wrong;
    boost::system::error_code error;
    at.address = std::string(address);
    boost::asio::ip::make_address(at.address, error);
    if (error) return wrong;
    return at;
}

}  // namespace hpo::cluster

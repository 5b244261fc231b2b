// TLS 1.3 with a pre-shared key instead of certificates: both ends prove that they have the key, and each connection
// has fresh keys of its own, so that a recorded one cannot be replayed.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <boost/system/error_code.hpp>
#include <memory>
#include <string>

namespace hpo::cluster {

enum class TlsRole { client, server };

/// `key` has 32 bytes. Throws boost::system::system_error if OpenSSL refuses the settings.
std::shared_ptr<boost::asio::ssl::context> tls_of(TlsRole role, const std::string& key);

struct TlsRefusal {
    bool other_key = false;  ///< the two ends have different keys
    std::string why;         ///< on the other end: "it does not have the study's key"
};
/// Returns why OpenSSL refused a handshake in this role.
TlsRefusal refusal_of(TlsRole role, const boost::system::error_code& error);

}  // namespace hpo::cluster

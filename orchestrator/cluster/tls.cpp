#include "orchestrator/cluster/tls.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <boost/asio/ssl/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstring>

namespace hpo::cluster {

namespace ssl = boost::asio::ssl;

namespace {

constexpr const char* identity = "hpo agent";

void forget_key(void*, void* key, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<std::string*>(key); }

/// The index at which a context keeps its key.
int key_index() {
    static const int index = ::SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, forget_key);
    return index;
}

unsigned int copy_key(SSL* connection, unsigned char* into, unsigned int room) {
    const auto* key =
        static_cast<const std::string*>(::SSL_CTX_get_ex_data(::SSL_get_SSL_CTX(connection), key_index()));
    if (key == nullptr || key->size() > room) return 0;
    std::memcpy(into, key->data(), key->size());
    return static_cast<unsigned int>(key->size());
}

unsigned int key_of_server(SSL* connection, const char* name, unsigned char* into, unsigned int room) {
    return name != nullptr && std::strcmp(name, identity) == 0 ? copy_key(connection, into, room) : 0;
}

unsigned int key_of_client(SSL* connection, const char*, char* name, unsigned int name_room, unsigned char* into,
                           unsigned int room) {
    if (std::strlen(identity) >= name_room) return 0;
    std::strcpy(name, identity);
    return copy_key(connection, into, room);
}

void check(bool done) {
    if (!done)
        throw boost::system::system_error(static_cast<int>(::ERR_get_error()), boost::asio::error::get_ssl_category());
}

}  // namespace

std::shared_ptr<ssl::context> tls_of(TlsRole role, const std::string& key) {
    auto context = std::make_shared<ssl::context>(ssl::context::tls);
    SSL_CTX* raw = context->native_handle();
    check(::SSL_CTX_set_min_proto_version(raw, TLS1_3_VERSION) == 1);
    check(::SSL_CTX_set_ciphersuites(raw, "TLS_AES_128_GCM_SHA256") == 1);  // the one whose hash such keys have
    check(::SSL_CTX_set_ex_data(raw, key_index(), new std::string(key)) == 1);
    ::SSL_CTX_set_options(raw, SSL_OP_NO_TICKET);
    ::SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);  // a thousand agents are quiet most of the time
    ::SSL_CTX_set_session_cache_mode(raw, SSL_SESS_CACHE_OFF);
    check(::SSL_CTX_set_num_tickets(raw, 0) == 1);
    if (role == TlsRole::server) {
        ::SSL_CTX_set_psk_server_callback(raw, key_of_server);
    } else {
        ::SSL_CTX_set_psk_client_callback(raw, key_of_client);
        ::SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);  // a server with a certificate instead is refused
    }
    return context;
}

TlsRefusal refusal_of(TlsRole role, const boost::system::error_code& error) {
    const bool client = role == TlsRole::client;
    switch (ERR_GET_REASON(static_cast<unsigned long>(error.value()))) {
        case SSL_R_BINDER_DOES_NOT_VERIFY:
            return {true, "it does not have the study's key"};
        case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:  // the answers of servers to a key that is not their own
        case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
            if (client) return {true, "the server there refuses the key of the join file"};
            break;
        case SSL_R_CERTIFICATE_VERIFY_FAILED:
            return {false, "another program listens there: it shows a certificate in place of the key"};
        case SSL_R_WRONG_VERSION_NUMBER:
        case SSL_R_UNSUPPORTED_PROTOCOL:
        case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        case SSL_R_HTTP_REQUEST:
        case SSL_R_HTTPS_PROXY_REQUEST:
        case SSL_R_PACKET_LENGTH_TOO_LONG:
        case SSL_R_RECORD_LENGTH_MISMATCH:
        case SSL_R_UNEXPECTED_MESSAGE:
        case SSL_R_BAD_RECORD_TYPE:
            return {false, client ? "another program listens there: it does not speak TLS 1.3"
                                  : "it is no agent of hpo: it does not speak TLS 1.3"};
        case SSL_R_NO_SHARED_CIPHER:
        case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
        case SSL_R_MISSING_SIGALGS_EXTENSION:
            return {false, "it is no agent of hpo: it speaks TLS and shows no key"};
        default:
            break;
    }
    return {false, "it does not agree on a connection (TLS: " + error.message() + ")"};
}

}  // namespace hpo::cluster

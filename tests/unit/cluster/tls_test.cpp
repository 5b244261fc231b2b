// The reasons for which a TLS handshake is refused.
#include "orchestrator/cluster/tls.hpp"

#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <boost/asio/ssl/error.hpp>

#include "tests/support/mentions.hpp"

namespace hpo::cluster {
namespace {

TlsRefusal refused(TlsRole role, int reason) {
    return refusal_of(role,
                      {static_cast<int>(ERR_PACK(ERR_LIB_SSL, 0, reason)), boost::asio::error::get_ssl_category()});
}

TEST(TlsRefusal, OfTheKeyIsToldByEitherAlertOfAServer) {
    for (const int alert : {SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER, SSL_R_TLSV1_ALERT_DECRYPT_ERROR}) {
        const TlsRefusal refusal = refused(TlsRole::client, alert);
        EXPECT_TRUE(refusal.other_key);
        EXPECT_THAT(refusal.why, Mentions("refuses", "key"));
        EXPECT_FALSE(refused(TlsRole::server, alert).other_key);
    }
    EXPECT_TRUE(refused(TlsRole::server, SSL_R_BINDER_DOES_NOT_VERIFY).other_key);
    EXPECT_FALSE(refused(TlsRole::client, SSL_R_WRONG_VERSION_NUMBER).other_key);
}

}  // namespace
}  // namespace hpo::cluster

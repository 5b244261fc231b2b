#include "orchestrator/cluster/join_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "hpo/descriptor.hpp"
#include "hpo/printable.hpp"
#include "hpo/version.hpp"
#include "hpo/wire.hpp"
#include "orchestrator/execution/random_token.hpp"

namespace hpo::cluster {

namespace {

constexpr std::size_t most_join_bytes = 64 * 1024, most_addresses = 64, key_digits = 64;

bool is_key(std::string_view digits) {
    return digits.size() == key_digits && digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

JoinFile to_join_file(const nlohmann::json& json) {
    JoinFile file;
    file.study = wire::to_string(wire::member(json, "study"));
    file.version = wire::to_string(wire::member(json, "version"));
    const nlohmann::json& addresses = wire::member(json, "addresses");
    if (!addresses.is_array() || addresses.empty() || addresses.size() > most_addresses)
        throw wire::Malformed("'addresses' must be a list of 1 to 64 addresses");
    for (const nlohmann::json& one : addresses) file.addresses.push_back(wire::to_string(one));
    const std::int64_t port = wire::to_int(wire::member(json, "port"));
    if (port < 1 || port > 65535) throw wire::Malformed("'port' must be from 1 to 65535");
    file.port = static_cast<std::uint16_t>(port);
    file.key = wire::to_string(wire::member(json, "key"));
    if (!is_key(file.key)) throw wire::Malformed("'key' must have 64 hexadecimal digits");
    return file;
}

Error of_path(const std::filesystem::path& path, const std::string& text) { return Error{path.string() + ": " + text}; }

}  // namespace

std::string text_of(const JoinFile& file) {
    return nlohmann::json{{"study", file.study},
                          {"version", file.version},
                          {"addresses", file.addresses},
                          {"port", file.port},
                          {"key", file.key}}
               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
           '\n';
}

Result<JoinFile> parse_join_file(std::string_view text) {
    if (text.size() > most_join_bytes) return Error{"it is larger than 64 KiB"};
    try {
        return to_join_file(nlohmann::json::parse(text));
    } catch (const wire::Malformed& wrong) {
        return Error{wrong.what()};
    } catch (const nlohmann::json::exception&) {
        return Error{"it is no JSON"};
    }
}

Result<void> write_join_file(const std::filesystem::path& path, const JoinFile& file) {
    std::filesystem::path fresh = path;
    fresh += ".new";
    ::unlink(fresh.c_str());
    const Descriptor out(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!out) return of_path(path, std::strerror(errno));
    const std::string text = text_of(file);
    const ssize_t written = ::write(out.get(), text.data(), text.size());
    if (written != static_cast<ssize_t>(text.size()) || ::fchmod(out.get(), 0600) != 0 ||
        ::rename(fresh.c_str(), path.c_str()) != 0) {
        const int error = written >= 0 && written < static_cast<ssize_t>(text.size()) ? ENOSPC : errno;
        ::unlink(fresh.c_str());
        return of_path(path, std::strerror(error));
    }
    return {};
}

void remove_join_file(const std::filesystem::path& path, const std::string& key) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return;
    std::ifstream in(path);
    const auto file = parse_join_file(std::string(std::istreambuf_iterator<char>(in), {}));
    if (!file || file->key != key) return;
    std::filesystem::remove(path, ignored);
}

Result<JoinFile> read_join_file(const std::filesystem::path& path) {
    const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!in && errno == ENOENT)
        return of_path(path, "there is no such file; hpo run STUDY --listen writes it, and removes it when it ends");
    struct stat info {};
    if (!in || ::fstat(in.get(), &info) != 0) return of_path(path, std::strerror(errno));
    if (!S_ISREG(info.st_mode)) return of_path(path, "it is no file");
    if (info.st_uid != ::geteuid()) return of_path(path, "it belongs to another user");
    if ((info.st_mode & 077) != 0)
        return of_path(path,
                       "other users can read the key in it; chmod 600 it, and start hpo run again, which makes a "
                       "new key");
    std::string text(most_join_bytes + 1, '\0');
    const ssize_t size = ::read(in.get(), text.data(), text.size());
    if (size < 0) return of_path(path, std::strerror(errno));
    text.resize(static_cast<std::size_t>(size));
    auto file = parse_join_file(text);
    if (!file) return of_path(path, "not a join file of hpo run --listen: " + printable(file.error().message));
    if (file->version != version)
        return of_path(path, "it is of hpo " + printable(file->version) + ", and this is hpo " + version +
                                 ": install the same on all hosts");
    return file;
}

std::string fresh_key() { return random_token() + random_token(); }

std::string key_bytes(const std::string& digits) {
    std::string bytes;
    for (std::size_t at = 0; at + 1 < digits.size(); at += 2)
        bytes.push_back(static_cast<char>(std::stoi(digits.substr(at, 2), nullptr, 16)));
    return bytes;
}

}  // namespace hpo::cluster

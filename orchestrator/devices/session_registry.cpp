#include "orchestrator/devices/session_registry.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>

namespace hpo {
namespace {

using Json = nlohmann::json;

constexpr std::size_t most_bytes = 256 * 1024;  // of a session's file
constexpr int longest_lock_ms = 100;
constexpr const char *lock_ending = ".lock", *ending = ".json", *temporary_suffix = ".new";

/// Opens the folder, and fails if it is not this user's alone. Files are looked up in the opened folder, even if it is
/// renamed afterwards.
Result<Descriptor> open_folder(bool make) {
    const std::string path = registry_folder().string();
    if (make && ::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
        return Error{path + " cannot be made: " + std::strerror(errno)};
    Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat info {};
    if (!folder || ::fstat(folder.get(), &info) != 0) return Error{path + ": " + std::strerror(errno)};
    if (info.st_uid != ::geteuid()) return Error{path + " belongs to another user"};
    if ((info.st_mode & 077) != 0 && ::fchmod(folder.get(), 0700) != 0)
        return Error{path + " is open to others: " + std::strerror(errno)};
    return folder;
}

/// Opens a regular file of this user for reading; refuses FIFOs, which could block, links and files of other users.
Descriptor open_plain(int folder, const std::string& name) {
    Descriptor file(::openat(folder, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat info {};
    if (file && (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid())) file.reset();
    return file;
}

/// Returns true if `name` is still the open file: a reader may have taken it for a dead session's and removed it.
bool still_named(int folder, const Descriptor& file, const std::string& name) {
    struct stat open {
    }, named{};
    return ::fstat(file.get(), &open) == 0 && ::fstatat(folder, name.c_str(), &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           open.st_ino == named.st_ino && open.st_dev == named.st_dev;
}

void remove(int folder, const std::string& name) {
    for (const char* end : {ending, temporary_suffix, lock_ending}) ::unlinkat(folder, (name + end).c_str(), 0);
}

std::string text_of(const SessionReservations& reservations) {
    Json devices = Json::array();
    for (const DeviceReservation& device : reservations.devices) {
        devices.push_back({{"device", device.device},
                           {"booked", device.reserved},  // the name that sessions of older versions read
                           {"capacity", device.capacity},
                           {"reserve", device.reserve},
                           {"others", device.others},
                           {"used", device.used},
                           {"cores", device.cores},
                           {"trials", device.trials}});
        if (!device.state.empty()) devices.back().update({{"state", device.state}, {"reason", device.reason}});
        if (device.limit) devices.back()["limit"] = *device.limit;
    }
    Json json{{"study", reservations.study}, {"pid", reservations.pid}, {"devices", std::move(devices)}};
    if (!reservations.waits.empty()) json["waits"] = reservations.waits;
    for (const auto& [trial, end] : reservations.ends) json["ends"].push_back({trial, end});
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

struct Nonsense {};

std::int64_t natural(const Json& json) {
    if (!json.is_number_integer() || json > INT64_MAX || json < 0) throw Nonsense();
    return json.get<std::int64_t>();
}

std::optional<SessionReservations> reservations_of(std::string_view text) {
    const Json json = Json::parse(text, nullptr, false);
    try {
        SessionReservations reservations{
            json.at("study").get<std::string>(), natural(json.at("pid")), {}, json.value("waits", "")};
        for (const Json& from : json.at("devices")) {
            DeviceReservation device;
            device.device = from.at("device").get<std::string>();
            device.reserved = natural(from.at("booked"));
            device.capacity = natural(from.at("capacity"));
            device.reserve = natural(from.at("reserve"));
            device.others = natural(from.at("others"));
            device.used = natural(from.at("used"));
            device.cores = from.at("cores").get<double>();
            device.trials = natural(from.at("trials"));
            device.state = from.value("state", "");
            device.reason = from.value("reason", "");
            if (from.contains("limit")) device.limit = natural(from["limit"]);
            reservations.devices.push_back(std::move(device));
        }
        for (const Json& end : json.value("ends", Json::array()))
            reservations.ends.emplace(natural(end.at(0)), end.at(1).get<double>());
        return reservations;
    } catch (const Json::exception&) {
        return std::nullopt;
    } catch (const Nonsense&) {
        return std::nullopt;
    }
}

std::optional<SessionReservations> read_session(int folder, const std::string& name) {
    const Descriptor file = open_plain(folder, name + ending);
    struct stat info {};
    if (!file || ::fstat(file.get(), &info) != 0) return std::nullopt;
    std::string text(std::min(static_cast<std::size_t>(info.st_size), most_bytes), '\0');
    const auto size = ::read(file.get(), text.data(), text.size());
    if (size <= 0) return std::nullopt;
    return reservations_of(std::string_view(text).substr(0, static_cast<std::size_t>(size)));
}

/// A session's file is locked while the session runs. Files of a dead one are removed under that lock.
bool lives(int folder, const std::string& name) {
    const Descriptor lock = open_plain(folder, name + lock_ending);
    if (!lock) return false;
    if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return errno == EWOULDBLOCK;
    if (still_named(folder, lock, name + lock_ending)) remove(folder, name);
    return false;
}

/// Returns the reservations of all sessions with an entry in the folder, except the entry `own`.
std::vector<SessionReservations> read_sessions_in(int folder, const std::string& own) {
    std::vector<SessionReservations> sessions;
    std::vector<std::string> names;
    // With a description of its own: duplicates of `folder` would share the position in the list.
    if (DIR* listing = ::fdopendir(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC))) {
        while (const dirent* entry = ::readdir(listing)) {
            const std::string name = entry->d_name;
            if (name.ends_with(lock_ending)) names.push_back(name.substr(0, name.size() - std::strlen(lock_ending)));
        }
        ::closedir(listing);
    }
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
        if (name != own && lives(folder, name))
            if (auto session = read_session(folder, name)) sessions.push_back(std::move(*session));
    return sessions;
}

}  // namespace

std::filesystem::path registry_folder() {
    const char* runtime = std::getenv("XDG_RUNTIME_DIR");
    struct stat info {};
    if (runtime != nullptr && runtime[0] == '/' && ::stat(runtime, &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == ::geteuid() && ::access(runtime, W_OK | X_OK) == 0)
        return std::filesystem::path(runtime) / "hpo";
    return "/tmp/hpo-" + std::to_string(::geteuid());
}

Result<SessionRegistry> SessionRegistry::open() {
    auto folder = open_folder(true);
    if (!folder) return folder.error();
    const int at = folder->get();
    // Containers with pid namespaces of their own may share the folder: when the name is taken, the next one is tried.
    for (int n = 1; n <= 16; ++n) {
        const std::string name = std::to_string(::getpid()) + (n > 1 ? "-" + std::to_string(n) : "");
        const std::string lock_name = name + lock_ending;
        Descriptor lock(::openat(at, lock_name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
        if (!lock) return Error{(registry_folder() / lock_name).string() + ": " + std::strerror(errno)};
        if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0 && still_named(at, lock, lock_name))
            return SessionRegistry(std::move(*folder), std::move(lock), name);
    }
    return Error{registry_folder().string() + " has no free entry for process " + std::to_string(::getpid())};
}

Result<void> SessionRegistry::publish(const SessionReservations& reservations) {
    std::string text = text_of(reservations);
    if (text == published_) return {};
    const std::string temporary = name_ + temporary_suffix;
    const auto failed = [&] { return Error{(registry_folder() / temporary).string() + ": " + std::strerror(errno)}; };
    {
        const Descriptor file(::openat(folder_.get(), temporary.c_str(),
                                       O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
        if (!file) return failed();
        errno = ENOSPC;
        if (::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) return failed();
    }
    if (::renameat(folder_.get(), temporary.c_str(), folder_.get(), (name_ + ending).c_str()) != 0) return failed();
    published_ = std::move(text);
    return {};
}

Descriptor SessionRegistry::lock() const {
    Descriptor file(::openat(folder_.get(), "turn", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    for (int tries = 0; file && ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
        if (errno != EWOULDBLOCK || tries >= longest_lock_ms) file.reset();
        if (file) ::poll(nullptr, 0, 1);
    }
    return file;
}

bool SessionRegistry::lost() const { return !still_named(folder_.get(), lock_, name_ + lock_ending); }

SessionRegistry::~SessionRegistry() {
    if (folder_) remove(folder_.get(), name_);
}

std::vector<SessionReservations> SessionRegistry::others() const { return read_sessions_in(folder_.get(), name_); }

std::vector<SessionReservations> read_sessions() {
    const auto folder = open_folder(false);
    return folder ? read_sessions_in(folder->get(), {}) : std::vector<SessionReservations>();
}

bool has_grown(const std::vector<DeviceReservation>& now, const std::vector<DeviceReservation>& before) {
    return !std::equal(now.begin(), now.end(), before.begin(), before.end(),
                       [](const DeviceReservation& a, const DeviceReservation& b) {
                           return a.device == b.device && a.reserved <= b.reserved && a.cores <= b.cores;
                       });
}

}  // namespace hpo

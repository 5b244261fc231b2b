// Runs a command and records each change that it makes to the files below a folder, and its standard output.
//
//   record-writes FOLDER LOG COMMAND...
//
// All processes and threads that the command starts are recorded. FOLDER does not exist yet, or is empty. The bytes
// that were written lie in LOG.bytes. LOG has one line per call that succeeded, with fields between tabs, in the order
// of their ends. Each begins with the numbers of the instants at which the call began and ended, and its kind:
//
//   write INODE OFFSET LENGTH AT      LENGTH bytes of LOG.bytes from AT on were written to the file at OFFSET
//   resize INODE SIZE
//   sync INODE                        the file or folder was synchronised; INODE 0: all were
//   create PATH INODE MODE            a file; MODE in octal digits
//   mkdir PATH INODE MODE
//   link FROM PATH INODE
//   rename FROM PATH INODE
//   remove PATH INODE                 a file or a folder
//   print LENGTH AT                   to standard output
//
// Paths are relative to FOLDER. Inodes are numbered from 1. The exit status is the command's own, and 125 if it cannot
// be traced, or made a change that is not in this list.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "tracer.hpp"

namespace {

namespace fs = std::filesystem;

/// A call that a thread has entered.
struct Entered {
    std::uint64_t number = 0, begin = 0;
    std::uint64_t arguments[6] = {};
    fs::path from, path;   ///< paths that the call names
    bool existed = false;  ///< true if the path existed before
    std::uint64_t inode = 0;
    fs::path file;  ///< file that it writes to
    std::string bytes;
    bool prints = false;
};

std::string proc(pid_t thread, const std::string& name) { return "/proc/" + std::to_string(thread) + "/" + name; }

fs::path target_of(const std::string& link) {
    char text[PATH_MAX];
    const ssize_t length = ::readlink(link.c_str(), text, sizeof text);
    return length < 0 ? fs::path() : fs::path(std::string(text, static_cast<std::size_t>(length)));
}

std::string read_memory(pid_t thread, std::uint64_t address, std::size_t length) {
    std::string bytes(length, '\0');
    const iovec to{bytes.data(), length};
    const iovec from{reinterpret_cast<void*>(address), length};
    const ssize_t got = ::process_vm_readv(thread, &to, 1, &from, 1, 0);
    bytes.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
    return bytes;
}

std::string read_text(pid_t thread, std::uint64_t address) {
    constexpr std::uint64_t page = 4096;
    std::string text;
    while (text.size() < PATH_MAX) {
        const std::string part = read_memory(thread, address + text.size(), page - (address + text.size()) % page);
        const auto end = part.find('\0');
        text += part.substr(0, end);
        if (end != std::string::npos || part.empty()) break;
    }
    return text;
}

std::string read_vectors(pid_t thread, std::uint64_t address, std::uint64_t count) {
    std::vector<iovec> parts(count);
    const std::string raw = read_memory(thread, address, count * sizeof(iovec));
    std::memcpy(parts.data(), raw.data(), raw.size());
    std::string bytes;
    for (const iovec& part : parts)
        bytes += read_memory(thread, reinterpret_cast<std::uint64_t>(part.iov_base), part.iov_len);
    return bytes;
}

class Recorder : public hpo::campaign::Tracer {
   public:
    Recorder(fs::path folder, const std::string& log)
        : folder_(std::move(folder)), log_(log), bytes_(log + ".bytes", std::ios::binary) {
        struct stat info {};
        if (::fstat(STDOUT_FILENO, &info) == 0) output_ = {info.st_dev, info.st_ino};
    }

    [[nodiscard]] bool whole() const { return whole_ && log_ && bytes_; }

   private:
    using Identity = std::pair<dev_t, ino_t>;

    bool begins(pid_t) override { return true; }
    void ends(pid_t thread) override {
        if (const auto last = entered_.find(thread); last != entered_.end()) killed_in(last->second);
        entered_.erase(thread);
    }

    /// Records a write that SIGKILL has met: the kernel completes it, but the thread never returns from the call. A
    /// later synchronisation by another process makes it lasting.
    void killed_in(const Entered& now) {
        if (now.number != SYS_pwrite64 || now.inode == 0 || now.bytes.empty()) return;
        std::ifstream file(now.file, std::ios::binary);
        std::string there(now.bytes.size(), '\0');
        file.seekg(static_cast<std::streamoff>(now.arguments[3]));
        if (file.read(there.data(), static_cast<std::streamsize>(there.size())) && there == now.bytes)
            wrote(0, now, static_cast<std::int64_t>(there.size()), now.arguments[3]);
    }

    void enters(pid_t thread, const __ptrace_syscall_info& call) override {
        Entered& now = entered_[thread] = {};
        now.number = call.entry.nr;
        now.begin = ++instant_;
        std::copy(std::begin(call.entry.args), std::end(call.entry.args), std::begin(now.arguments));
        const auto& at = now.arguments;
        switch (now.number) {
            case SYS_write:
            case SYS_pwrite64:
                if (of_interest(thread, at[0], now)) now.bytes = read_memory(thread, at[1], at[2]);
                break;
            case SYS_writev:
            case SYS_pwritev:
                if (of_interest(thread, at[0], now)) now.bytes = read_vectors(thread, at[1], at[2]);
                break;
            case SYS_openat:
                names(thread, now, at[0], at[1]);
                break;
            case SYS_mkdirat:
                names(thread, now, at[0], at[1]);
                break;
            case SYS_unlinkat:
                names(thread, now, at[0], at[1]);
                break;
            case SYS_renameat2:
            case SYS_renameat:
            case SYS_linkat:
                names(thread, now, at[0], at[1], at[2], at[3]);
                break;
#ifdef SYS_open
            case SYS_open:
            case SYS_creat:
            case SYS_mkdir:
            case SYS_unlink:
            case SYS_rmdir:
                names(thread, now, here, at[0]);
                break;
            case SYS_rename:
            case SYS_link:
                names(thread, now, here, at[0], here, at[1]);
                break;
            case SYS_symlink:
                names(thread, now, here, at[1]);
                break;
#endif
            case SYS_symlinkat:
                names(thread, now, at[1], at[2]);
                break;
            case SYS_truncate:
                names(thread, now, here, at[0]);
                break;
            case SYS_sendfile:
            case SYS_ftruncate:
            case SYS_fallocate:
            case SYS_fsync:
            case SYS_fdatasync:
                of_interest(thread, at[0], now);
                break;
            case SYS_copy_file_range:
            case SYS_splice:
                of_interest(thread, at[2], now);
                break;
            default:
                break;
        }
    }

    void leaves(pid_t thread, const __ptrace_syscall_info& call) override {
        const Entered now = std::move(entered_[thread]);
        entered_.erase(thread);
        const std::int64_t result = call.exit.rval;
        if (call.exit.is_error) return;
        const auto& at = now.arguments;
        switch (now.number) {
            case SYS_write:
            case SYS_writev:
                wrote(thread, now, result, std::nullopt);
                break;
            case SYS_pwrite64:
            case SYS_pwritev:
                wrote(thread, now, result, at[3]);
                break;
            case SYS_openat:
                opened(thread, now, at[2], static_cast<int>(result));
                break;
#ifdef SYS_open
            case SYS_open:
                opened(thread, now, at[1], static_cast<int>(result));
                break;
            case SYS_creat:
                opened(thread, now, O_CREAT | O_TRUNC, static_cast<int>(result));
                break;
            case SYS_mkdir:
                made(now);
                break;
            case SYS_unlink:
            case SYS_rmdir:
                removed(now);
                break;
            case SYS_rename:
                renamed(now);
                break;
            case SYS_link:
                linked(now);
                break;
            case SYS_symlink:
                unknown(now);
                break;
#endif
            case SYS_mkdirat:
                made(now);
                break;
            case SYS_unlinkat:
                removed(now);
                break;
            case SYS_renameat2:
                if (at[4] == 0 || at[4] == RENAME_NOREPLACE)
                    renamed(now);
                else
                    unknown(now);
                break;
            case SYS_renameat:
                renamed(now);
                break;
            case SYS_linkat:
                linked(now);
                break;
            case SYS_symlinkat:
            case SYS_truncate:
                unknown(now);
                break;
            case SYS_ftruncate:
                if (now.inode != 0) line(now, "resize", now.inode, at[1]);
                break;
            case SYS_fallocate:
                if (now.inode == 0) break;
                if (at[1] != 0)
                    unknown(now);
                else if (at[2] + at[3] > size_of(thread, at[0]))
                    line(now, "resize", now.inode, at[2] + at[3]);
                break;
            case SYS_fsync:
            case SYS_fdatasync:
                if (now.inode != 0) line(now, "sync", now.inode);
                break;
            case SYS_sync:
            case SYS_syncfs:
                line(now, "sync", 0);
                break;
            case SYS_sendfile:
            case SYS_copy_file_range:
            case SYS_splice:
                unknown(now);
                break;
            default:
                break;
        }
    }

    void opened(pid_t thread, const Entered& now, std::uint64_t flags, int descriptor) {
        const std::string link = proc(thread, "fd/" + std::to_string(descriptor));
        if (now.path.empty() || !inside(target_of(link))) return;
        if ((flags & O_DSYNC) != 0 || (flags & O_TMPFILE) == O_TMPFILE) return unknown(now);
        const std::uint64_t inode = inode_of(link);
        if ((flags & O_CREAT) != 0 && !now.existed) {
            line(now, "create", relative(now.path), inode, mode_of(link));
        } else if ((flags & O_TRUNC) != 0) {
            line(now, "resize", inode, 0);
        }
    }

    void made(const Entered& now) {
        if (!now.path.empty()) line(now, "mkdir", relative(now.path), inode_of(now.path), mode_of(now.path));
    }

    void removed(const Entered& now) {
        if (!now.path.empty()) line(now, "remove", relative(now.path), now.inode);
    }

    void renamed(const Entered& now) {
        if (now.path.empty() && now.from.empty()) return;
        if (now.path.empty() || now.from.empty()) return unknown(now);
        line(now, "rename", relative(now.from), relative(now.path), inode_of(now.path));
    }

    void linked(const Entered& now) {
        if (!now.path.empty()) line(now, "link", relative(now.from), relative(now.path), inode_of(now.path));
    }

    /// A change that cannot be replayed makes the record useless.
    void unknown(const Entered& now) {
        if (now.inode == 0 && now.path.empty()) return;
        std::fprintf(stderr, "record-writes: call %llu on %s cannot be recorded\n",
                     static_cast<unsigned long long>(now.number), now.path.c_str());
        whole_ = false;
    }

    void wrote(pid_t thread, const Entered& now, std::int64_t length, std::optional<std::uint64_t> offset) {
        if ((now.inode == 0 && !now.prints) || length <= 0) return;
        const auto count = static_cast<std::uint64_t>(length);
        if (count > now.bytes.size()) return unknown(now);
        bytes_.write(now.bytes.data(), length);
        const std::uint64_t at = written_;
        written_ += count;
        if (now.prints) return line(now, "print", count, at);
        if (!offset) offset = position_of(thread, now.arguments[0]) - count;
        line(now, "write", now.inode, *offset, count, at);
    }

    template <class... Fields>
    void line(const Entered& now, const char* kind, const Fields&... fields) {
        log_ << now.begin << '\t' << ++instant_ << '\t' << kind;
        ((log_ << '\t' << fields), ...);
        log_ << '\n';
    }

    /// Reads the paths of a call. Paths outside the folder are left empty.
    void names(pid_t thread, Entered& now, std::uint64_t folder, std::uint64_t name) const {
        now.path = path_of(thread, folder, name);
        struct stat info {};
        now.existed = !now.path.empty() && ::lstat(now.path.c_str(), &info) == 0;
        if (now.existed)
            if (const auto known = inodes_.find({info.st_dev, info.st_ino}); known != inodes_.end())
                now.inode = known->second;
    }
    void names(pid_t thread, Entered& now, std::uint64_t folder, std::uint64_t name, std::uint64_t to_folder,
               std::uint64_t to_name) const {
        names(thread, now, to_folder, to_name);
        now.from = path_of(thread, folder, name);
    }

    [[nodiscard]] fs::path path_of(pid_t thread, std::uint64_t folder, std::uint64_t name) const {
        fs::path path = read_text(thread, name);
        if (path.is_relative()) {
            const int descriptor = static_cast<int>(folder);
            path = target_of(proc(thread, descriptor == AT_FDCWD ? "cwd" : "fd/" + std::to_string(descriptor))) / path;
        }
        path = path.lexically_normal();
        if (!path.has_filename()) path = path.parent_path();  // "folder/"
        return inside(path) ? path : fs::path();
    }

    [[nodiscard]] bool inside(const fs::path& path) const {
        return path == folder_ || path.native().starts_with(folder_.native() + "/");
    }
    [[nodiscard]] std::string relative(const fs::path& path) const { return path.lexically_relative(folder_).native(); }

    /// Returns whether the descriptor is that of a recorded file, or of the standard output.
    bool of_interest(pid_t thread, std::uint64_t descriptor, Entered& now) const {
        struct stat info {};
        if (::stat(proc(thread, "fd/" + std::to_string(static_cast<int>(descriptor))).c_str(), &info) != 0)
            return false;
        const Identity identity{info.st_dev, info.st_ino};
        now.prints = identity == output_;
        if (const auto known = inodes_.find(identity); known != inodes_.end()) now.inode = known->second;
        if (now.inode != 0) now.file = target_of(proc(thread, "fd/" + std::to_string(static_cast<int>(descriptor))));
        return now.prints || now.inode != 0;
    }

    /// Returns the number of the file, which stays open, so that its inode is not used again.
    std::uint64_t inode_of(const fs::path& path) {
        struct stat info {};
        const int descriptor = ::open(path.c_str(), O_PATH | O_CLOEXEC);
        if (descriptor < 0 || ::fstat(descriptor, &info) != 0) {
            std::perror(path.c_str());
            whole_ = false;
            return 0;
        }
        const auto [at, fresh] = inodes_.try_emplace({info.st_dev, info.st_ino}, inodes_.size() + 1);
        if (!fresh) ::close(descriptor);
        return at->second;
    }

    static std::string mode_of(const fs::path& path) {
        struct stat info {};
        char text[16] = "";
        if (::stat(path.c_str(), &info) == 0) std::snprintf(text, sizeof text, "%o", info.st_mode & 07777);
        return text;
    }

    static std::uint64_t size_of(pid_t thread, std::uint64_t descriptor) {
        struct stat info {};
        ::stat(proc(thread, "fd/" + std::to_string(static_cast<int>(descriptor))).c_str(), &info);
        return static_cast<std::uint64_t>(info.st_size);
    }

    static std::uint64_t position_of(pid_t thread, std::uint64_t descriptor) {
        std::ifstream file(proc(thread, "fdinfo/" + std::to_string(static_cast<int>(descriptor))));
        std::string name;
        std::uint64_t position = 0;
        file >> name >> position;
        return position;
    }

    static constexpr auto here = static_cast<std::uint64_t>(AT_FDCWD);
    fs::path folder_;
    std::ofstream log_, bytes_;
    bool whole_ = true;
    Identity output_{};
    std::uint64_t instant_ = 0, written_ = 0;
    std::map<Identity, std::uint64_t> inodes_;
    std::map<pid_t, Entered> entered_;
};

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return std::fprintf(stderr, "usage: record-writes FOLDER LOG COMMAND...\n"), 125;
    Recorder recorder(fs::weakly_canonical(fs::absolute(argv[1])), argv[2]);
    const int status = recorder.run(argv + 3);
    return recorder.whole() ? status : 125;
}

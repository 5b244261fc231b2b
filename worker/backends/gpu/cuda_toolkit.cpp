#include "worker/backends/gpu/cuda_toolkit.hpp"

#include <algorithm>
#include <cstdlib>
#include <sstream>

namespace hpo::gpu {
namespace {

namespace fs = std::filesystem;

std::string variable(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// The entries of `folder` whose names begin with this prefix, in descending order.
std::vector<fs::path> beginning(const fs::path& folder, const std::string& begin) {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none))
        if (entry.path().filename().string().starts_with(begin)) found.push_back(entry.path());
    std::sort(found.rbegin(), found.rend());
    return found;
}

class Folders {
   public:
    void add(const fs::path& folder) {
        std::error_code none;
        if (fs::is_directory(folder, none) && std::find(all.begin(), all.end(), folder) == all.end())
            all.push_back(folder);
    }
    void add_toolkit(const fs::path& home) {
        add(home / "lib64");
        add(home / "lib");
        for (const fs::path& target : beginning(home / "targets", "")) add(target / "lib");
    }
    /// Adds the wheels of one Python; `lib` is the folder that contains python3.N.
    void add_wheels(const fs::path& lib) {
        for (const fs::path& python : beginning(lib, "python3"))
            for (const char* packages : {"site-packages", "dist-packages"})
                for (const fs::path& wheel : beginning(python / packages / "nvidia", "")) add(wheel / "lib");
    }

    std::vector<fs::path> all;
};

/// Adds the libraries that this one loads by name, which lie in the same folder.
void load_companions(const std::string& stem, int major, const fs::path& folder) {
    const std::string begin =
        stem == "nvrtc" ? "libnvrtc-builtins.so." : "lib" + stem + "Lt.so." + std::to_string(major);
    for (const fs::path& companion : beginning(folder, begin)) (void)Library::open({companion.string()});
}

}  // namespace

std::vector<fs::path> toolkit_folders() {
    Folders folders;
    for (const char* home : {"CUDA_HOME", "CUDA_PATH"})
        if (const std::string path = variable(home); !path.empty()) folders.add_toolkit(path);
    for (const char* home : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
        const fs::path path = variable(home);
        if (path.empty()) continue;
        folders.add(path / "lib");
        folders.add_wheels(path / "lib");
    }
    std::istringstream programs(variable("PATH"));
    for (std::string folder; std::getline(programs, folder, ':');)
        if (!folder.empty()) folders.add_wheels(fs::path(folder).parent_path() / "lib");
    folders.add_toolkit("/usr/local/cuda");
    for (const fs::path& home : beginning("/usr/local", "cuda-")) folders.add_toolkit(home);
    folders.add_toolkit("/opt/cuda");
    if (const std::string home = variable("HOME"); !home.empty()) folders.add_wheels(fs::path(home) / ".local/lib");
    folders.add_wheels("/usr/local/lib");
    folders.add_wheels("/usr/lib");
    return std::move(folders.all);
}

Result<Library> open_toolkit_library(const std::string& stem, int driver_major) {
    std::vector<int> majors{13, 12, 11};
    if (driver_major > 0) {
        std::erase(majors, driver_major);
        majors.insert(majors.begin(), driver_major);
    }
    const std::vector<fs::path> folders = toolkit_folders();
    std::string broken;
    for (const int major : majors) {
        // NVRTC 11 is the one that names its minor version.
        const std::string name =
            "lib" + stem + ".so." + (stem == "nvrtc" && major == 11 ? "11.2" : std::to_string(major));
        if (auto library = Library::open({name})) {
            if (const fs::path from = library->file("nvrtcVersion"); !from.empty())
                load_companions(stem, major, from.parent_path());
            return library;
        }
        for (const fs::path& folder : folders) {
            std::error_code none;
            if (!fs::exists(folder / name, none)) continue;
            load_companions(stem, major, folder);
            auto library = Library::open({(folder / name).string()});
            if (library) return library;
            broken += "; " + library.error().message;
        }
    }
    return Error{"lib" + stem + " of CUDA " + (driver_major > 0 ? std::to_string(driver_major) : "11 or later") +
                 " is not found: install the CUDA toolkit's libraries (or the wheels nvidia-cuda-nvrtc and "
                 "nvidia-cublas), or set CUDA_HOME to where they are" +
                 broken};
}

}  // namespace hpo::gpu

// A new folder that is removed by its destructor. It is in /dev/shm if that exists, so that no test waits for a disk.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hpo::testing {

class TemporaryFolder {
   public:
    TemporaryFolder() {
        const std::filesystem::path memory = "/dev/shm";
        const bool fast = !::getenv("TMPDIR") && ::access(memory.c_str(), W_OK) == 0;
        std::string name = ((fast ? memory : std::filesystem::temp_directory_path()) / "hpo-test-XXXXXX").string();
        if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder: " + name);
        path_ = name;
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

   private:
    std::filesystem::path path_;
};

}  // namespace hpo::testing

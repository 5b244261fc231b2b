#include "worker/data/csv.hpp"

#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <utility>

namespace hpo {

Result<void> read_csv(const std::filesystem::path& file, const CsvRecord& record) {
    const auto broken = [&](const std::string& what) { return Error{file.string() + ": " + what}; };
    std::error_code unknown;
    if (std::filesystem::exists(file, unknown) && !std::filesystem::is_regular_file(file, unknown))
        return broken("not a file");  // a pipe would block
    errno = 0;
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> handle(gzopen(file.c_str(), "rb"), gzclose_r);
    if (!handle) return broken(errno != 0 ? std::strerror(errno) : "cannot be opened");
    CsvReader reader(record);
    std::vector<char> piece(std::size_t{1} << 18);
    bool is_first = true;
    for (;;) {
        const int got = gzread(handle.get(), piece.data(), static_cast<unsigned>(piece.size()));
        if (got > 0) {
            if (std::exchange(is_first, false) && std::string_view(piece.data(), 4) == "PAR1")
                return broken("is a Parquet file: data.format: parquet reads it");
            if (auto fed = reader.feed({piece.data(), static_cast<std::size_t>(got)}); !fed)
                return broken(fed.error().message);
            continue;
        }
        int status = Z_OK;
        const std::string why = gzerror(handle.get(), &status);
        if (status == Z_ERRNO) return broken(std::strerror(errno));
        if (got < 0 || status == Z_BUF_ERROR) {
            // zlib begins with the name of the file.
            const std::string prefix = file.string() + ": ";
            return broken("damaged or truncated (" + (why.starts_with(prefix) ? why.substr(prefix.size()) : why) + ")");
        }
        break;
    }
    if (auto finished = reader.finish(); !finished) return broken(finished.error().message);
    return {};
}

Result<std::vector<std::string>> csv_fields(std::string_view line) {
    std::vector<std::string> names;
    CsvReader reader([&](std::int64_t, std::span<const std::string_view> fields) -> Result<void> {
        names.insert(names.end(), fields.begin(), fields.end());
        return {};
    });
    if (auto fed = reader.feed(line); !fed) return fed.error();
    if (auto finished = reader.finish(); !finished) return finished.error();
    return names;
}

}  // namespace hpo

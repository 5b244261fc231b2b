#include "worker/data/npy_reader.hpp"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "worker/data/data_text.hpp"

namespace hpo {
namespace {

namespace fs = std::filesystem;

struct ZipClose {
    void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct ZipFileClose {
    void operator()(zip_file_t* member) const { zip_fclose(member); }
};
struct FileClose {
    void operator()(std::FILE* file) const { std::fclose(file); }
};
using Archive = std::unique_ptr<zip_t, ZipClose>;

Result<Archive> open_archive(const fs::path& file) {
    int code = 0;
    Archive archive(zip_open(file.c_str(), ZIP_RDONLY, &code));
    if (archive) return archive;
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    const std::string text = zip_error_strerror(&why);
    zip_error_fini(&why);
    return Error{file.string() + ": cannot be read as an NPZ archive (" + text + ")"};
}

class NpyFile final : public NpyReader {
   public:
    explicit NpyFile(ArrayPlace place) : NpyReader(std::move(place)), file_(std::fopen(place_.file.c_str(), "rb")) {}

   protected:
    Result<std::size_t> read_some(std::span<std::byte> to) override {
        if (!file_) return error(std::strerror(errno));
        const std::size_t got = std::fread(to.data(), 1, to.size(), file_.get());
        if (got < to.size() && std::ferror(file_.get()) != 0) return error(std::strerror(errno));
        return got;
    }

   private:
    std::unique_ptr<std::FILE, FileClose> file_;
};

class NpzMember final : public NpyReader {
   public:
    NpzMember(ArrayPlace place, Archive archive)
        : NpyReader(std::move(place)),
          archive_(std::move(archive)),
          member_(zip_fopen(archive_.get(), place_.member.c_str(), 0)) {}

   protected:
    Result<std::size_t> read_some(std::span<std::byte> to) override {
        if (!member_) return error(zip_error_strerror(zip_get_error(archive_.get())));
        const zip_int64_t got = zip_fread(member_.get(), to.data(), to.size());
        if (got < 0)
            return error(std::string("damaged (") + zip_error_strerror(zip_file_get_error(member_.get())) + ")");
        return static_cast<std::size_t>(got);
    }

   private:
    Archive archive_;
    std::unique_ptr<zip_file_t, ZipFileClose> member_;
};

}  // namespace

Result<std::vector<ArrayPlace>> list_arrays(const fs::path& path) {
    std::vector<ArrayPlace> places;
    std::error_code problem;
    if (fs::is_directory(path, problem)) {
        for (fs::directory_iterator entry(path, problem), end; !problem && entry != end; entry.increment(problem))
            if (entry->path().extension() == ".npy") places.push_back({entry->path().stem().string(), entry->path()});
        if (problem) return Error{path.string() + ": " + problem.message()};
        if (places.empty()) return Error{path.string() + ": the folder has no file *.npy"};
    } else if (!fs::is_regular_file(path, problem)) {
        return Error{path.string() + ": not a file"};  // a pipe would block
    } else if (path.extension() == ".npy") {
        places.push_back({path.stem().string(), path});
    } else {
        const auto archive = open_archive(path);
        if (!archive) return archive.error();
        const zip_int64_t count = zip_get_num_entries(archive->get(), 0);
        for (zip_int64_t i = 0; i < count; ++i) {
            const char* const name = zip_get_name(archive->get(), static_cast<zip_uint64_t>(i), 0);
            if (name == nullptr || !std::string_view(name).ends_with(".npy")) continue;
            places.push_back({std::string(name).substr(0, std::strlen(name) - 4), path, name});
        }
        if (places.empty()) return Error{path.string() + ": the archive has no array (*.npy)"};
    }
    std::sort(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    const auto twice =
        std::adjacent_find(places.begin(), places.end(), [](const auto& a, const auto& b) { return a.name == b.name; });
    if (twice != places.end()) return Error{path.string() + ": the archive has two arrays named " + twice->name};
    return places;
}

Result<std::unique_ptr<NpyReader>> NpyReader::open(ArrayPlace place) {
    std::unique_ptr<NpyReader> reader;
    if (place.member.empty()) {
        std::error_code unknown;
        if (fs::exists(place.file, unknown) && !fs::is_regular_file(place.file, unknown))
            return Error{place.text() + ": not a file"};
        reader = std::make_unique<NpyFile>(std::move(place));
    } else {
        auto archive = open_archive(place.file);
        if (!archive) return archive.error();
        reader = std::make_unique<NpzMember>(std::move(place), *std::move(archive));
    }
    if (auto read = reader->read_header(); !read) return read.error();
    return reader;
}

Result<void> NpyReader::read_header() {
    std::vector<std::byte> beginning(npy_preamble);
    const auto fill = [&](std::size_t from) -> Result<void> {
        const auto got = read_some(std::span(beginning).subspan(from));
        if (!got) return got.error();
        beginning.resize(from + *got);
        return {};
    };
    if (auto filled = fill(0); !filled) return filled;
    const auto needed = npy_header_bytes(beginning);
    if (!needed) return error(needed.error().message);
    beginning.resize(*needed);
    if (*needed > npy_preamble)
        if (auto filled = fill(npy_preamble); !filled) return filled;
    const auto header = parse_npy(beginning);
    if (!header) return error(header.error().message);
    header_ = *header;
    position_ = header_.data_offset;
    return {};
}

Result<void> NpyReader::read(std::span<std::byte> to) {
    const auto got = read_some(to);
    if (!got) return got.error();
    position_ += static_cast<std::int64_t>(*got);
    if (*got == to.size()) return {};
    return error("truncated: it ends at byte " + grouped(position_) + ", and an array of shape " +
                 shape_text(header_.shape) + " ends at byte " + grouped(header_.data_offset + header_.data_bytes()));
}

Result<void> NpyReader::finish() {
    std::byte extra{};
    const auto more = read_some({&extra, 1});
    if (!more) return more.error();
    if (*more > 0)
        return error("longer than the array of shape " + shape_text(header_.shape) +
                     " in its header, which ends at byte " + grouped(position_));
    return {};
}

}  // namespace hpo

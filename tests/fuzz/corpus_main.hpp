// Runs fuzzers over the files in folders, without libFuzzer, so that their corpora are regression tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct Fuzzer {
    std::string_view name;
    int (*test_one_input)(const std::uint8_t* data, std::size_t size);
};

/// The arguments are the name of a fuzzer and folders. Returns 1 if the fuzzer is unknown, a file cannot be read, or
/// there is none.
inline int run_corpus(std::span<const Fuzzer> fuzzers, int argc, char** argv) {
    const std::string_view name = argc > 1 ? argv[1] : "";
    const auto fuzzer =
        std::find_if(fuzzers.begin(), fuzzers.end(), [&](const Fuzzer& one) { return one.name == name; });
    if (fuzzer == fuzzers.end()) return std::fprintf(stderr, "usage: %s FUZZER FOLDER...\n", argv[0]), 1;
    std::vector<std::filesystem::path> files;
    for (int i = 2; i < argc; ++i)
        for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    for (const auto& file : files) {
        std::ifstream stream(file, std::ios::binary);
        const std::string bytes((std::istreambuf_iterator<char>(stream)), {});
        if (!stream) return std::fprintf(stderr, "cannot read %s\n", file.c_str()), 1;
        std::printf("%s\n", file.c_str());
        std::fflush(stdout);  // leaves the name of the file that crashed as the last line
        fuzzer->test_one_input(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::printf("%zu files\n", files.size());
    return files.empty() ? 1 : 0;
}

#include "orchestrator/engine/imported_files.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

namespace hpo {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_files = 500, most_bytes = 1 << 20;

/// Splits the words of a line at blanks, commas and parentheses, up to a comment.
std::vector<std::string> words_of(const std::string& line) {
    std::string text = line.substr(0, line.find('#'));
    std::ranges::replace_if(
        text, [](char c) { return c == ',' || c == '(' || c == ')' || c == '\\' || c == ';'; }, ' ');
    std::istringstream words(text);
    return {std::istream_iterator<std::string>(words), {}};
}

/// Returns the folder in which the module `name` of an import is looked for, and removes the dots of a relative one.
fs::path folder_of(std::string& name, const fs::path& program, const fs::path& importer) {
    if (!name.starts_with('.')) return program.parent_path();
    fs::path folder = importer.parent_path();
    for (name.erase(0, 1); name.starts_with('.'); name.erase(0, 1)) folder = folder.parent_path();
    return folder;
}

/// Adds the files of the module with this dotted name: itself, and the packages that hold it.
void add_module(std::vector<fs::path>& files, fs::path folder, std::string_view name) {
    const auto add = [&](const fs::path& file) {
        std::error_code ignored;
        if (fs::is_regular_file(file, ignored)) files.push_back(file);
    };
    while (!name.empty()) {
        const std::string part(name.substr(0, name.find('.')));
        add(folder / (part + ".py"));
        folder /= part;
        add(folder / "__init__.py");
        name.remove_prefix(std::min(name.size(), part.size() + 1));
    }
}

std::vector<fs::path> imports_of(const fs::path& importer, const fs::path& program) {
    std::vector<fs::path> files;
    std::ifstream stream(importer, std::ios::binary);
    std::size_t bytes = 0;
    for (std::string line; bytes < most_bytes && std::getline(stream, line); bytes += line.size() + 1) {
        const std::vector<std::string> words = words_of(line);
        if (words.size() < 2 || (words[0] != "import" && words[0] != "from")) continue;
        if (words[0] == "import") {
            for (std::size_t i = 1; i < words.size(); ++i)
                if (words[i - 1] != "as" && words[i] != "as") add_module(files, program.parent_path(), words[i]);
            continue;
        }
        std::string name = words[1];
        const fs::path folder = folder_of(name, program, importer);
        add_module(files, folder, name);
        for (std::size_t i = 3; i < words.size(); ++i)
            if (words[i - 1] != "as" && words[i] != "as")
                add_module(files, folder, name.empty() ? words[i] : name + '.' + words[i]);
    }
    return files;
}

}  // namespace

std::vector<fs::path> imported_files(const fs::path& program) {
    std::vector<fs::path> found;
    std::set<fs::path> known{program.lexically_normal()};
    std::vector<fs::path> open{program};
    for (std::size_t next = 0; next < open.size() && open.size() < most_files; ++next)
        for (const fs::path& file : imports_of(fs::path(open[next]), program))
            if (known.insert(file.lexically_normal()).second) found.push_back(file), open.push_back(file);
    return found;
}

}  // namespace hpo

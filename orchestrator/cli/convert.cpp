// hpo convert: converts a study that was written for another tool.
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "hpo/shell_word.hpp"
#include "hpo/sqlite_file.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/moved_aside.hpp"
#include "orchestrator/import/convert.hpp"
#include "orchestrator/import/registry.hpp"
#include "orchestrator/lookup/study_source.hpp"
#include "orchestrator/output/output_path.hpp"

namespace hpo::commands {

namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
    std::string file, from{importing::any_tool}, path;
    bool force = false;
};

/// Reads at most one byte more than a study file may have. The reader of the study then rejects a larger file.
Result<std::string> read_file(const fs::path& file) {
    constexpr std::size_t limit = 256 * 1024 + 1;
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) return Error{file.string() + ": is a folder, not a file"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text(limit, '\0');
    if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream.is_open() || stream.bad()) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
}

void write_file(const ConvertArguments& arguments, const std::string& yaml) {
    auto output = OutputPath::at(arguments.path, OutputPath::Kind::file, arguments.force);
    if (!output) throw Fatal(output.error().message);
    auto file = FileWriter::create(output->temporary(), output->path());
    if (!file) throw Fatal(file.error().message);
    auto written = file->write(yaml);
    if (written) written = file->close(true);
    if (!written) throw Fatal(written.error().message);
    const auto aside = output->finish();
    if (!aside) throw Fatal(aside.error().message);
    tell_moved_aside(*aside);
}

/// Returns "a, b or c".
std::string joined_by_or(const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) text += (text.empty() ? "" : &name == &names.back() ? " or " : ", ") + name;
    return text;
}

int convert_command(const ConvertArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const auto text = read_file(arguments.file);
    if (!text) throw Fatal(text.error().message);
    if (text->starts_with(sqlite_magic))
        throw Fatal(arguments.file + ": this is a database; hpo import " + shell_word(arguments.file) +
                    " stores the trials of a study of Optuna");
    const auto read_beside = [&](const std::string& name) {
        return read_file(fs::path(arguments.file).parent_path() / name);
    };
    const auto conversion = importing::convert(*text, arguments.file, arguments.from, known_parts(), read_beside);
    if (!conversion) throw Fatal(conversion.error().message);
    const bool to_file = !arguments.path.empty() && arguments.path != "-";
    if (to_file)
        write_file(arguments, conversion->yaml);
    else
        print(conversion->yaml);
    for (const std::string& remark : conversion->remarks) std::fprintf(stderr, "%s\n", remark.c_str());
    if (to_file)
        std::fprintf(stderr, "hpo: %s is written; next: hpo check %s\n", printable(arguments.path).c_str(),
                     printable(arguments.path).c_str());
    return 0;
}

}  // namespace

CommandAction convert(CLI::App& app) {
    const auto arguments = std::make_shared<ConvertArguments>();
    std::vector<std::string> titles;
    for (const importing::Format* format : importing::formats()) titles.emplace_back(format->title);
    app.add_option("file", arguments->file, "The file to convert: " + joined_by_or(titles))->required();
    app.add_option("-o,--output", arguments->path, "The study file to write; default: print it");
    std::vector<std::string> tools = importing::tool_names();
    const std::string help = "The tool that the file was written for: auto (detected), " + joined_by_or(tools);
    tools.emplace_back(importing::any_tool);
    app.add_option("--from", arguments->from, help)->check(CLI::IsMember(tools))->capture_default_str();
    app.add_flag("--force", arguments->force, "Replace an existing file, which is kept under another name");
    return [arguments] { return convert_command(*arguments); };
}

}  // namespace hpo::commands

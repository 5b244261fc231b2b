// hpo convert: a study that was written for another tool.
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

#include "hpo/printable.hpp"
#include "hpo/result.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/study_source.hpp"
#include "orchestrator/exchange/import.hpp"
#include "orchestrator/exchange/output.hpp"

namespace hpo::commands {

namespace {

namespace fs = std::filesystem;
using exchange::Origin;

struct ConvertArguments {
    std::string file, from = "auto", path;
    bool force = false;
};

/// One byte more than a study may have at most, so that a file that is too large is told of as such.
Result<std::string> read_file(const fs::path& file) {
    constexpr std::size_t most = 256 * 1024 + 1;
    std::error_code ignored;
    if (fs::is_directory(file, ignored)) return Error{file.string() + ": a folder, not a file"};
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    std::string text(most, '\0');
    if (stream) stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!stream.is_open() || stream.bad()) return Error{file.string() + ": " + std::strerror(errno != 0 ? errno : EIO)};
    text.resize(static_cast<std::size_t>(stream.gcount()));
    return text;
}

void write_file(const ConvertArguments& arguments, const std::string& yaml) {
    auto output = exchange::Output::at(arguments.path, exchange::Output::Kind::file, arguments.force);
    if (!output) throw Fatal(output.error().message);
    auto file = exchange::FileWriter::create(output->temporary(), output->path());
    if (!file) throw Fatal(file.error().message);
    auto written = file->write(yaml);
    if (written) written = file->close(true);
    if (!written) throw Fatal(written.error().message);
    const auto aside = output->finish();
    if (!aside) throw Fatal(aside.error().message);
    if (!aside->empty())
        std::fprintf(stderr, "hpo: what was there lies in %s now\n", printable(aside->string()).c_str());
}

int convert_command(const ConvertArguments& arguments) {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
    const auto text = read_file(arguments.file);
    if (!text) throw Fatal(text.error().message);
    const Origin origin = arguments.from == "wandb"   ? Origin::wandb
                          : arguments.from == "nni"   ? Origin::nni
                          : arguments.from == "katib" ? Origin::katib
                                                      : Origin::automatic;
    const auto beside = [&](const std::string& name) {
        return read_file(fs::path(arguments.file).parent_path() / name);
    };
    const auto conversion = exchange::convert(*text, arguments.file, origin, known_parts(), beside);
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
    app.add_option("file", arguments->file,
                   "A sweep of W&B, an experiment or search space of NNI, or an experiment of Katib")
        ->required();
    app.add_option("-o,--output", arguments->path, "The study file to make; default: print it");
    app.add_option("--from", arguments->from, "What the file is: auto (by its content), wandb, nni or katib")
        ->check(CLI::IsMember({"auto", "wandb", "nni", "katib"}))
        ->capture_default_str();
    app.add_flag("--force", arguments->force, "Set aside what is there, under another name");
    return [arguments] { return convert_command(*arguments); };
}

}  // namespace hpo::commands

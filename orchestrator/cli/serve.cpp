// hpo serve: the page of hpo report, live, for all studies.
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <CLI/Validators.hpp>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "hpo/interrupted.hpp"
#include "hpo/or_fail.hpp"
#include "hpo/printable.hpp"
#include "hpo/text.hpp"
#include "orchestrator/cli/commands.hpp"
#include "orchestrator/cli/control_client.hpp"
#include "orchestrator/cli/show.hpp"
#include "orchestrator/cli/study_document.hpp"
#include "orchestrator/devices/host.hpp"
#include "orchestrator/execution/child_program.hpp"
#include "orchestrator/lookup/study_choice.hpp"
#include "orchestrator/serve/server.hpp"
#include "os/process.hpp"

namespace hpo::commands {

namespace {

struct ServeArguments {
    std::vector<std::string> studies, names;
    std::string address = "127.0.0.1", token_file, certificate, key;
    int port = 7878;
    bool control = false, insecure = false;
};

std::string random_secret() {
    std::random_device random;  // the kernel's, on Linux
    std::string secret;
    for (int i = 0; i < 8; ++i) secret += std::to_string(random());
    return secret;
}

std::string token_in(const std::string& path) {
    std::ifstream file(path);
    struct stat info {};
    if (!file || ::stat(path.c_str(), &info) != 0)
        throw Fatal("--token-file " + path + ": cannot be read; (umask 077; openssl rand -hex 32 > FILE) makes one", 2);
    std::string token;
    std::getline(file, token);
    if (const std::string problem = serve::problem_with_token(token, info.st_mode); !problem.empty())
        throw Fatal("--token-file " + path + ": " + problem, 2);
    return token;
}

/// Refuses to show studies to a network without a token, or in plain text unless the user says so.
void check(const ServeArguments& arguments) {
    if (arguments.certificate.empty() != arguments.key.empty())
        throw Fatal("--tls-cert and --tls-key belong together", 2);
    if (serve::is_loopback(arguments.address)) return;
    const std::string place = "--host " + arguments.address + ": others can reach this address; ";
    if (arguments.token_file.empty())
        throw Fatal(place + "--token-file FILE names the secret that they need; or forward the port by SSH", 2);
    if (arguments.certificate.empty() && !arguments.insecure)
        throw Fatal(place + "--tls-cert FILE and --tls-key FILE encrypt the connection; --insecure allows it without",
                    2);
}

serve::Sources sources() {
    const auto new_document = [] {
        return [live = std::make_shared<LiveDocument>()](const StudySnapshot& snapshot) { return live->of(snapshot); };
    };
    return {.new_document = new_document, .trial = shown_trial, .stop = ask_to_stop};
}

int serve_command(const ServeArguments& arguments) {
    check(arguments);
    std::vector<StudyFolder> chosen;
    for (const std::string& study : arguments.studies) chosen.push_back(choose_study(study));
    serve::Access access{.names = arguments.names,
                         .token = arguments.token_file.empty() ? "" : token_in(arguments.token_file),
                         .session = random_secret(),
                         .csrf = random_secret(),
                         .control = arguments.control,
                         .secure = !arguments.certificate.empty()};
    access.names.push_back(host_name());
    access.names.push_back(arguments.address);
    serve::Tls tls(nullptr, ::SSL_CTX_free);
    if (access.secure) tls = or_fail(serve::load_tls(arguments.certificate, arguments.key));

    // Studies come first, and hundreds of threads share the memory of two.
    (void)::setpriority(PRIO_PROCESS, 0, 19);
    os::limit_arenas();
    Foreground foreground;
    serve::LiveStudies studies(chosen, sources());
    serve::Site site(studies, access);
    serve::Server server(site, std::move(tls));
    const auto port = server.listen(arguments.address, arguments.port);
    if (!port)
        throw Fatal("--host " + arguments.address + " --port " + std::to_string(arguments.port) + ": " +
                    port.error().message);
    server.start();
    std::string lines = serve::url_of(access.secure, arguments.address, host_name(), *port) + " shows " +
                        (chosen.empty() ? "the studies in " + printable(runs_folder().string()) + '/'
                                        : counted(static_cast<std::int64_t>(chosen.size()), "study", "studies")) +
                        "; Ctrl-C ends\n";
    const auto variable = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : ""); };
    if (const std::string forward = serve::forwarding_line(variable("SSH_CONNECTION"), variable("USER"), *port);
        serve::is_loopback(arguments.address) && !forward.empty())
        lines += "on the computer before you, this forwards the port: " + printable(forward) + '\n';
    print(lines);
    int signal = 0;
    while (signal == 0) signal = foreground.wait(Seconds{3600});
    const int status = signal == SIGINT ? 0 : exit_status_of(signal);
    // The server ends without waiting for the page of a large study that is being made.
    std::thread([status] {
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        ::_exit(status);
    }).detach();
    return status;
}

}  // namespace

CommandAction serve_studies(CLI::App& app) {
    const auto arguments = std::make_shared<ServeArguments>();
    app.add_option("STUDY", arguments->studies, "Studies by name, folder or YAML file; default: all, also later ones");
    app.add_option("--port", arguments->port, "0 takes a free one; default: 7878")->check(CLI::Range(0, 65535));
    app.add_option("--host", arguments->address,
                   "The address to listen at; default: 127.0.0.1, for this machine alone");
    app.add_option("--name", arguments->names, "A further name by which browsers may reach this server")
        ->allow_extra_args(false);
    app.add_option("--token-file", arguments->token_file, "A file of mode 600 with the token that every viewer needs");
    app.add_option("--tls-cert", arguments->certificate, "The certificate, in PEM, for https");
    app.add_option("--tls-key", arguments->key, "Its key, in PEM");
    app.add_flag("--insecure", arguments->insecure,
                 "Serve others without TLS: anybody on the network path can read the token");
    app.add_flag("--allow-control", arguments->control, "Let viewers stop trials and studies, and add notes and tags");
    return [arguments] { return serve_command(*arguments); };
}

}  // namespace hpo::commands

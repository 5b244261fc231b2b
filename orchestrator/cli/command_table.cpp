// The commands in the order of --help, with their summaries and examples.
#include <array>

#include "orchestrator/cli/app.hpp"

namespace hpo {
namespace {

// clang-format off
constexpr std::array table{
    Command{"run", "Search, and print the best configuration",
            "hpo run studies/phase1.yaml     start or resume a search\n"
            "hpo run studies/phase1.yaml --time 10m\n"
            "hpo run studies/phase1.yaml --set budget.epochs=5 --fresh\n"
            "hpo run study.yaml --on ssh:gpu1,gpu2\n"
            "hpo run study.yaml --on slurm   submits a job, and follows it\n"
            "hpo run study.yaml --listen     other hosts may join it (hpo agent)\n"
            "hpo run studies/phase1.yaml --notify 'notify-send \"$HPO_NOTIFY_TEXT\"'",
            commands::run},
    Command{"init", "Write a first study for data or a script",
            "hpo init data.csv               writes study.yaml: a space and a budget for this amount of data\n"
            "hpo init data.parquet --target price -o prices.yaml\n"
            "hpo init photos/                a folder of images, one folder a class\n"
            "hpo init train.py               its flags become the space",
            commands::init},
    Command{"ask-tell", "Let your own program run the trials: it asks for them and reports results",
            "hpo ask-tell study.yaml         JSON Lines on stdin and stdout\n"
            "echo '{\"ask\": 2}' | hpo ask-tell study.yaml --no-store",
            commands::ask_tell_study},
    Command{"check", "Explain a study, or its errors",
            "hpo check studies/phase1.yaml   space, memory and time of a trial, how many at once\n"
            "hpo check studies/phase1.yaml --devices 8xH200     and how long it takes there\n"
            "hpo check studies/phase1.yaml --json",
            commands::check},
    Command{"train", "Train one configuration to the end and keep its weights",
            "hpo train best.yaml -o model.safetensors\n"
            "hpo train best.yaml -o model.safetensors --card model.md     with a model card",
            commands::train},
    Command{"predict", "Predict with a model that hpo train has written",
            "hpo predict model.safetensors new.csv -o predictions.csv\n"
            "hpo predict model.safetensors photos/           an image or a folder of images; to standard output",
            commands::predict},
    Command{"ls", "List studies, or the trials of one",
            "hpo ls                          all studies with their best values\n"
            "hpo ls phase1                   the trials of one\n"
            "hpo ls phase1 --json            for programs, also while it runs",
            commands::ls},
    Command{"best", "Print the best configuration, complete and ready to run",
            "hpo best phase1 > best.yaml     for hpo train and hpo run\n"
            "hpo best phase1 --format json   for programs\n"
            "hpo best phase1 --repeat 5      train the best trials again with new seeds, and rank them by their mean\n"
            "eval \"python train.py $(hpo best phase1 --format args)\"",
            commands::best},
    Command{"show", "Show everything about one trial, or about a study",
            "hpo show 7                      trial 7 of the most recent study\n"
            "hpo show phase1 7               of phase1; phase1/7 is the same\n"
            "hpo show phase1                 the study: best trials, savings by stopping, importance",
            commands::show},
    Command{"compare", "Show trials side by side, with the parameters in which they differ",
            "hpo compare phase1/28 phase1/56\n"
            "hpo compare early late          the best trial of each study",
            commands::compare},
    Command{"rm", "Remove studies with all their results",
            "hpo rm debug                    tells what it would remove, and asks\n"
            "hpo rm debug debug-2 --yes",
            commands::rm},
    Command{"mv", "Give a study another name",
            "hpo mv debug first-try",
            commands::mv},
    Command{"note", "Write a note about a study or a trial, or print its notes",
            "hpo note phase1 'with the data of May'\n"
            "hpo note phase1/7 'diverges with a larger batch'    hpo show and hpo ls --json have it\n"
            "hpo note phase1 7               print those of trial 7",
            commands::note},
    Command{"tag", "Tag a study or a trial",
            "hpo tag phase1 baseline may     hpo ls shows them\n"
            "hpo tag phase1/7 keep\n"
            "hpo tag phase1 may --remove",
            commands::tag},
    Command{"importance", "Show which parameters matter, how certain the best trial is, and what to try next",
            "hpo importance phase1           shares of the metric's variance, bounds, noise, ties\n"
            "hpo importance phase1 --json    for programs",
            commands::importance},
    Command{"plot", "Draw a picture of a study in the terminal, or as SVG or PNG",
            "hpo plot phase1                 the values of its trials, and the best so far\n"
            "hpo plot phase1 curves          also importance, slice, parallel, timeline, front\n"
            "hpo plot phase1 slice -o slice.svg",
            commands::plot},
    Command{"report", "Write a page about a study: one HTML file with charts, to keep or to send",
            "hpo report phase1               writes phase1.html, which any browser shows without a network\n"
            "hpo report phase1 -o week-12.html\n"
            "hpo report phase1 --force       replace the page of yesterday, which is kept under another name",
            commands::report},
    Command{"serve", "Show the page of hpo report live in a browser, for all studies",
            "hpo serve                       at http://127.0.0.1:7878/, the studies in runs/\n"
            "hpo serve phase1 --port 0       one study, at a free port\n"
            "hpo serve --allow-control       let viewers stop trials and studies\n"
            "hpo serve --host 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem",
            commands::serve_studies},
    Command{"logs", "Print the log of a trial",
            "hpo logs 7                      of the most recent study\n"
            "hpo logs phase1/7 -f            and follow it until it ends",
            commands::logs},
    Command{"top", "Watch a study live; show or stop its trials",
            "hpo top                         the most recent study; ? lists the keys, q quits\n"
            "hpo top phase1 --filter 'optimizer=adamw value<0.2'    / changes the filter\n"
            "hpo top phase1 --once           print the table of all trials, the best first, and exit\n"
            "hpo top phase1 --once --sort lr --filter failed",
            commands::top},
    Command{"stop", "End a trial or a running study",
            "hpo stop 7                      trial 7 of the running study\n"
            "hpo stop phase1/7               trial 7 of phase1\n"
            "hpo stop phase1                 the study, which can be resumed",
            commands::stop},
    Command{"convert", "Convert another tool's sweep or experiment to a study",
            "hpo convert sweep.yaml -o study.yaml           reports what cannot be converted, with its line\n"
            "hpo convert search_space.json --from nni",
            commands::convert},
    Command{"import", "Store the trials of a study of Optuna, to look at and to learn from",
            "hpo import optuna.db                           the only study of a database or a journal\n"
            "hpo import optuna.db --study first --name old  then warm_start: [old] in a study file",
            commands::import_trials},
    Command{"export", "Write a study for another program",
            "hpo export phase1 --to optuna phase1.db        for optuna.load_study, also while it runs\n"
            "hpo export phase1 --to csv -                   one row per trial; jsonl: whole trials with their steps\n"
            "hpo export phase1 --to tensorboard logs/phase1\n"
            "hpo export phase1 --to kubernetes pods.yaml --image me/trials --volume work:/work --cpus 4 --memory 16Gi",
            commands::export_study},
    Command{"agent", "Run trials on this host for a study that listens elsewhere",
            "hpo agent --join runs/phase1/join.json      the file that hpo run phase1 --listen has written\n"
            "sbatch --wrap 'hpo agent --join runs/phase1/join.json'     a job for each host that takes part",
            commands::agent},
    Command{"devices", "List CPU and GPUs, their memory, and who uses it",
            "hpo devices                     numbers and UUIDs for resources.devices\n"
            "hpo devices --json              for programs",
            commands::devices},
    Command{"doctor", "Check this installation: missing parts, consequences and cures",
            "hpo doctor                      exit status 0 if hpo can train here; nothing is changed\n"
            "hpo doctor --json               for programs\n"
            "hpo doctor --self-test          kill, interrupt and resume small studies: exit status 0 if nothing is lost",
            commands::doctor},
    Command{"bench", "Measure the speed of this machine's CPU and GPUs",
            "hpo bench devices               products in every size and precision, memory, launches, copies\n"
            "hpo bench devices --again       measure again even if nothing changed\n"
            "hpo bench devices --json        for programs\n"
            "hpo bench training phase1       the time of each operation of the training of its first trial\n"
            "hpo bench training study.yaml --backend opencl --set worker.training.batch_size=512",
            commands::bench},
    Command{"advise", "Find the bottleneck of a study, and changes that make it faster",
            "hpo advise phase1                       from samples, measurements and calibrations\n"
            "hpo advise phase1 --measure             and from short training with other batches and precisions\n"
            "hpo advise phase1 --apply faster.yaml   write the study with the changes",
            commands::advise},
    Command{"simulate", "Predict the duration of a study, here or on other hardware",
            "hpo simulate phase1                     as it ran: how far the prediction is off\n"
            "hpo simulate phase1 --devices 16xcpu --set budget.trials=1000\n"
            "hpo simulate phase1 --devices 8xH200 --price 30\n"
            "hpo simulate study.yaml --devices cluster.yaml     devices and trials described in a file",
            commands::simulate},
    Command{"monitor", "Sample CPU, GPUs and a program, and find its bottleneck",
            "hpo monitor                     until Ctrl-C\n"
            "hpo monitor --for 5m --csv load.csv\n"
            "hpo monitor -- python train.py --epochs 3\n"
            "hpo monitor --study phase1      samples from its run",
            commands::monitor},
    Command{"keys", "List the keys of study files, with defaults and meanings",
            "hpo keys                        all of them\n"
            "hpo keys asha                   keys that contain a word",
            commands::keys},
    Command{"schema", "Print a JSON Schema of study files, with which editors check and complete them",
            "hpo schema > study.schema.json  then begin study.yaml with:\n"
            "                                # yaml-language-server: $schema=study.schema.json",
            commands::schema},
    Command{"completion", "Print the script that completes commands, options, studies and keys in a shell",
            "hpo completion bash > ~/.local/share/bash-completion/completions/hpo\n"
            "hpo completion zsh > \"${fpath[1]}/_hpo\"\n"
            "hpo completion fish > ~/.config/fish/completions/hpo.fish",
            commands::completion},
    Command{"help", "Describe a command",
            "hpo help run                    as hpo run --help",
            commands::help},
};
// clang-format on

}  // namespace

std::span<const Command> command_table() { return table; }

}  // namespace hpo

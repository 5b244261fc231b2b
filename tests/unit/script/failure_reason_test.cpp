#include "orchestrator/script/syntax/failure_reason.hpp"

#include <gtest/gtest.h>

#include <iterator>
#include <string>

namespace hpo::script {
namespace {

std::string text(std::string_view output) { return failure_reason(output).text; }

TEST(FailureReason, KeepsAnExceptionOfSeveralLinesWithItsTypeAndPlace) {
    EXPECT_EQ(text("epoch 1\n"
                   "Traceback (most recent call last):\n"
                   "  File \"train.py\", line 9, in <module>\n"
                   "    main()\n"
                   "  File \"train.py\", line 5, in main\n"
                   "    net.load_state_dict(state)\n"
                   "RuntimeError: Error(s) in loading state_dict for Net:\n"
                   "\tMissing key(s) in state_dict: \"a.weight\".\n"
                   "\tsize mismatch for b.weight.\n\n"),
              "RuntimeError: Error(s) in loading state_dict for Net:\n"
              "\tMissing key(s) in state_dict: \"a.weight\".\n"
              "\tsize mismatch for b.weight.\n"
              "  File \"train.py\", line 9, in <module>\n"
              "    main()\n"
              "  File \"train.py\", line 5, in main\n"
              "    net.load_state_dict(state)");
}

TEST(FailureReason, KeepsTheLastOfChainedExceptionsAndTheEndsOfALongOne) {
    std::string output =
        "Traceback (most recent call last):\n  File \"a\", line 1, in f\nKeyError: 1\n\n"
        "During handling of the above exception, another exception occurred:\n\n"
        "Traceback (most recent call last):\n";
    for (int i = 0; i < 9; ++i) output += "  File \"deep.py\", line " + std::to_string(i) + ", in g\n    g()\n";
    output += "ValueError: first\n";
    for (int i = 0; i < 100; ++i) output += "line " + std::to_string(i) + "\n";
    const std::string reason = text(output);
    EXPECT_TRUE(reason.starts_with("ValueError: first\nline 0\n")) << reason;
    EXPECT_NE(reason.find("\n...\nline 99\n  File \"deep.py\", line 6, in g\n"), std::string::npos) << reason;
    EXPECT_TRUE(reason.ends_with("line 8, in g\n    g()")) << reason;
}

TEST(FailureReason, WithoutATracebackIsTheLastLineThatIsNotEmpty) {
    EXPECT_EQ(text("a\n 10 %\r 20 %\r\nerror: no such file\r\n \n"), "error: no such file");
    EXPECT_EQ(text("a\r 10 %\rkilled"), "killed");
    EXPECT_EQ(text("\n\n"), "");
    EXPECT_EQ(text(""), "");
    // A traceback that is cut off before its exception.
    EXPECT_EQ(text("Traceback (most recent call last):\n  File \"a\", line 1, in f"), "  File \"a\", line 1, in f");
    EXPECT_LE(text("Traceback (most recent call last):\n" + std::string(100'000, 'x')).size(), 4000u);
}

/// An output as the program really prints it, and the first line of the reason.
struct Printed {
    const char* by;
    const char* output;
    const char* reason;
    bool fatal = false;  ///< also where a pipe hides the exit status
};

const Printed printed[] = {
    {"R", "Error in f(x) : the learning rate is not allowed\nCalls: f\nExecution halted\n",
     "Error in f(x) : the learning rate is not allowed", true},
    {"R, long",
     "Loading required package: xgboost\nError in xgb.train(params, data, nrounds = 10, watchlist = w) : \n"
     "  the learning rate is not allowed\nIn addition: Warning message:\nIn xgb.train(p) : NAs introduced by coercion\n"
     "Execution halted\n",
     "Error in xgb.train(params, data, nrounds = 10, watchlist = w): the learning rate is not allowed", true},
    {"R, stop(call. = FALSE)", "Error: the learning rate is not allowed\nExecution halted\n",
     "Error: the learning rate is not allowed", true},
    {"Node",
     "/tmp/b.js:1\nconst lr = 1; function f() { throw new Error('the learning rate is not allowed'); } f();\n"
     "                                   ^\n\nError: the learning rate is not allowed\n    at f (/tmp/b.js:1:66)\n"
     "    at Object.<anonymous> (/tmp/b.js:1:114)\n    at node:internal/main/run_main_module:28:49\n\nNode.js "
     "v20.20.2\n",
     "Error: the learning rate is not allowed", true},
    {"Node, with properties",
     "node:internal/fs/utils:356\n    throw err;\n    ^\n\nError: ENOENT: no such file or directory, open 'x.csv'\n"
     "    at Object.openSync (node:fs:596:3)\n    at f (/tmp/b.js:2:4) {\n  errno: -2,\n  syscall: 'open',\n"
     "  code: 'ENOENT',\n  path: 'x.csv'\n}\n\nNode.js v20.20.2\n",
     "Error: ENOENT: no such file or directory, open 'x.csv'", true},
    {"Node, a module",
     "node:internal/modules/cjs/loader:1148\n  throw err;\n  ^\n\nError: Cannot find module './model'\nRequire stack:\n"
     "- /tmp/b.js\n    at Module._resolveFilename (node:internal/modules/cjs/loader:1145:15)\n{\n"
     "  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/tmp/b.js' ]\n}\n\nNode.js v20.20.2\n",
     "Error: Cannot find module './model'", true},
    {"npm run",
     "TypeError [ERR_INVALID_ARG_TYPE]: The \"lr\" argument must be of type number\n    at f (/tmp/b.js:1:70)\n\n"
     "Node.js v18.19.0\nnpm ERR! Lifecycle script `train` failed with error:\nnpm ERR! Error: command failed\n",
     "TypeError [ERR_INVALID_ARG_TYPE]: The \"lr\" argument must be of type number", true},
    {"Deno", "error: Uncaught (in promise) Error: the learning rate is not allowed\n    at file:///tmp/b.ts:3:9\n",
     "error: Uncaught (in promise) Error: the learning rate is not allowed", true},
    {"Java",
     "Exception in thread \"main\" java.lang.IllegalArgumentException: the learning rate is not allowed\n"
     "\tat Train.f(Train.java:4)\n\tat Train.main(Train.java:9)\n",
     "Exception in thread \"main\" java.lang.IllegalArgumentException: the learning rate is not allowed", true},
    {"Java, logged",
     "12:00:01.123 [main] INFO Train - epoch 1\njava.lang.IllegalStateException: no data\n\tat "
     "Train.main(Train.java:9)\n",
     "java.lang.IllegalStateException: no data"},
    {"C#",
     "Unhandled exception. System.ArgumentException: the learning rate is not allowed (Parameter 'lr')\n"
     "   at Program.F(Double lr) in /src/Program.cs:line 5\n   at Program.Main() in /src/Program.cs:line 9\n",
     "Unhandled exception. System.ArgumentException: the learning rate is not allowed (Parameter 'lr')", true},
    {"Rust",
     "thread 'main' panicked at src/main.rs:12:5:\nthe learning rate is not allowed\n"
     "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
     "thread 'main' panicked at src/main.rs:12:5: the learning rate is not allowed", true},
    {"Rust, before 1.73",
     "thread 'main' panicked at 'the learning rate is not allowed', src/main.rs:2:5\n"
     "note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace\n",
     "thread 'main' panicked at 'the learning rate is not allowed', src/main.rs:2:5", true},
    {"Rust, backtrace",
     "thread 'main' panicked at src/main.rs:12:5:\nassertion `left == right` failed: shapes\n  left: 1\n right: 2\n"
     "stack backtrace:\n   0: rust_begin_unwind\n             at /rustc/0/library/std/src/panicking.rs:645:5\n"
     "   1: train::main\n             at ./src/main.rs:12:5\n"
     "note: Some details are omitted, run with `RUST_BACKTRACE=full` for a verbose backtrace.\n",
     "thread 'main' panicked at src/main.rs:12:5: assertion `left == right` failed: shapes", true},
    {"Rust, anyhow", "Error: cannot read the data\n\nCaused by:\n    No such file or directory (os error 2)\n",
     "Error: cannot read the data"},
    {"Go",
     "panic: the learning rate is not allowed\n\ngoroutine 1 [running]:\nmain.f(...)\n\t/tmp/x/main.go:3\n"
     "main.main()\n\t/tmp/x/main.go:6 +0x25\nexit status 2\n",
     "panic: the learning rate is not allowed", true},
    {"Go, nil",
     "panic: runtime error: invalid memory address or nil pointer dereference\n"
     "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x47b1d2]\n\ngoroutine 1 [running]:\n"
     "main.train(0x0)\n\t/tmp/x/main.go:9 +0x12\nmain.main()\n\t/tmp/x/main.go:6 +0x25\nexit status 2\n",
     "panic: runtime error: invalid memory address or nil pointer dereference", true},
    {"Go, log.Fatal", "2026/11/25 12:00:00 epoch 1\n2026/11/25 12:00:01 cannot open data.csv\nexit status 1\n",
     "2026/11/25 12:00:01 cannot open data.csv"},
    {"Julia",
     "ERROR: LoadError: the learning rate is not allowed\nStacktrace:\n [1] error(s::String)\n   @ Base ./error.jl:35\n"
     " [2] f(x::Float64)\n   @ Main /tmp/a.jl:1\n [3] top-level scope\n   @ /tmp/a.jl:2\n"
     "in expression starting at /tmp/a.jl:2\n",
     "ERROR: LoadError: the learning rate is not allowed"},
    {"MATLAB -batch",
     "Error using f (line 3)\nthe learning rate is not allowed\n\nError in train (line 9)\n    f(lr);\n    ^^^^^\n",
     "Error using f (line 3): the learning rate is not allowed"},
    {"Octave",
     "error: the learning rate is not allowed\nerror: called from\n    f at line 2 column 3\n    train at line 9 "
     "column 1\n",
     "error: the learning rate is not allowed"},
    {"Ruby", "train.rb:3:in `f': the learning rate is not allowed (ArgumentError)\n\tfrom train.rb:9:in `<main>'\n",
     "train.rb:3:in `f': the learning rate is not allowed (ArgumentError)"},
    {"PHP",
     "PHP Fatal error:  Uncaught Exception: the learning rate is not allowed in /tmp/t.php:3\nStack trace:\n"
     "#0 /tmp/t.php(9): f()\n#1 {main}\n  thrown in /tmp/t.php on line 3\n",
     "PHP Fatal error:  Uncaught Exception: the learning rate is not allowed in /tmp/t.php:3", true},
    {"Perl", "epoch 1\nthe learning rate is not allowed at train.pl line 3.\n",
     "the learning rate is not allowed at train.pl line 3."},
    {"Perl, Carp", "the learning rate is not allowed at train.pl line 3.\n\tmain::f(0.5) called at train.pl line 9\n",
     "the learning rate is not allowed at train.pl line 3."},
    {"Lua",
     "lua: train.lua:3: the learning rate is not allowed\nstack traceback:\n\t[C]: in function 'error'\n"
     "\ttrain.lua:3: in function 'f'\n\t[C]: in ?\n",
     "lua: train.lua:3: the learning rate is not allowed"},
    {"Haskell",
     "train: the learning rate is not allowed\nCallStack (from HasCallStack):\n  error, called at train.hs:3:5 in "
     "main:Main\n",
     "train: the learning rate is not allowed"},
    {"OCaml",
     "Fatal error: exception Failure(\"the learning rate is not allowed\")\n"
     "Raised at Stdlib.failwith in file \"stdlib.ml\", line 29, characters 17-33\nCalled from Train in file "
     "\"train.ml\"\n",
     "Fatal error: exception Failure(\"the learning rate is not allowed\")", true},
    {"Elixir", "** (RuntimeError) the learning rate is not allowed\n    train.exs:3: (file)\n",
     "** (RuntimeError) the learning rate is not allowed", true},
    {"Dart",
     "Unhandled exception:\nFormatException: the learning rate is not allowed\n#0      main (file:///t.dart:3:3)\n",
     "Unhandled exception: FormatException: the learning rate is not allowed", true},
    {"C++",
     "terminate called after throwing an instance of 'std::runtime_error'\n  what():  the learning rate is not "
     "allowed\n"
     "Aborted (core dumped)\n",
     "terminate called after throwing an instance of 'std::runtime_error': the learning rate is not allowed", true},
    {"C, assert", "train: train.c:3: main: Assertion `lr < 1' failed.\nAborted\n",
     "train: train.c:3: main: Assertion `lr < 1' failed."},
    {"AddressSanitizer",
     "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014\nREAD of size 4 at 0x602000000014\n"
     "    #0 0x55d in main /tmp/t.c:5\nSUMMARY: AddressSanitizer: heap-buffer-overflow /tmp/t.c:5 in "
     "main\n==7==ABORTING\n",
     "==7==ERROR: AddressSanitizer: heap-buffer-overflow on address 0x602000000014"},
    {"Fortran",
     "At line 3 of file train.f90\nFortran runtime error: End of file\n\nError termination. Backtrace:\n#0  0x7f1 in "
     "???\n"
     "#1  0x7f2 in ???\n",
     "Fortran runtime error: End of file"},
    {"bash", "run.sh: line 3: pyhton3: command not found\n", "run.sh: line 3: pyhton3: command not found"},
    {"bash, killed", "epoch 1 loss=0.5\nrun.sh: line 1:  4242 Killed                  python3 train.py\n",
     "run.sh: line 1:  4242 Killed                  python3 train.py", true},
    {"make",
     "python3 train.py --lr 0.1\ntrain.py: the learning rate is not allowed\nmake: *** [Makefile:2: train] Error 1\n",
     "train.py: the learning rate is not allowed"},
    {"argparse",
     "usage: train.py [-h] [--lr LR]\n                [--epochs EPOCHS]\ntrain.py: error: argument --lr: invalid float "
     "value: 'x'\n",
     "train.py: error: argument --lr: invalid float value: 'x'"},
    {"click",
     "Usage: train.py [OPTIONS]\nTry 'train.py --help' for help.\n\nError: No such option: --ler Did you mean --lr?\n",
     "Error: No such option: --ler Did you mean --lr?"},
    {"typer",
     "Usage: train.py [OPTIONS]\nTry 'train.py --help' for help.\n\u256d\u2500 Error \u2500\u2500\u256e\n"
     "\u2502 Invalid value for '--lr': 'x' is not a valid float. \u2502\n\u2570\u2500\u2500\u2500\u256f\n",
     "Invalid value for '--lr': 'x' is not a valid float."},
    {"hydra",
     "Error executing job with overrides: ['lr=0.1']\nTraceback (most recent call last):\n"
     "  File \"/tmp/train.py\", line 7, in main\n    raise ValueError(\"no\")\nValueError: the learning rate is not "
     "allowed\n\n"
     "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n",
     "ValueError: the learning rate is not allowed", true},
    {"a CUDA assertion",
     "/pytorch/aten/src/ATen/native/cuda/Loss.cu:250: nll_loss: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0` "
     "failed.\n"
     "Traceback (most recent call last):\n  File \"train.py\", line 9, in <module>\n    loss.backward()\n"
     "RuntimeError: CUDA error: device-side assert triggered\n"
     "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
     "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1.\n",
     "RuntimeError: CUDA error: device-side assert triggered", true},
    {"torchrun",
     "Traceback (most recent call last):\n  File \"/tmp/train.py\", line 3, in <module>\n    raise ValueError(\"no\")\n"
     "ValueError: the learning rate is not allowed\n"
     "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 77) of binary: "
     "python3\n"
     "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
     "  File \"api.py\", line 246, in launch_agent\n    raise ChildFailedError(\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
     "============================================================\ntrain.py FAILED\n"
     "------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
     "------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
     "  time      : 2026-11-25_12:00:00\n  host      : localhost\n  rank      : 0 (local_rank: 0)\n"
     "  exitcode  : 1 (pid: 77)\n  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org\n"
     "============================================================\n",
     "ValueError: the learning rate is not allowed", true},
    {"torchrun, killed",
     "W1125 12:00:00.000000 1 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 78 closing signal "
     "SIGTERM\n"
     "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
     "====================================================\ntrain.py FAILED\n"
     "----------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n"
     "----------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
     "  rank      : 0 (local_rank: 0)\n  exitcode  : -9 (pid: 77)\n  error_file: <N/A>\n"
     "  traceback : Signal 9 (SIGKILL) received by PID 77\n====================================================\n",
     "Signal 9 (SIGKILL) received by PID 77", true},
    {"torchrun, with record",
     "Traceback (most recent call last):\n  File \"/usr/bin/torchrun\", line 8, in <module>\n    sys.exit(main())\n"
     "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
     "====================================================\ntrain.py FAILED\n"
     "----------------------------------------------------\nRoot Cause (first observed failure):\n[0]:\n"
     "  exitcode  : 1 (pid: 77)\n  error_file: /tmp/torchelastic/error.json\n"
     "  traceback : Traceback (most recent call last):\n    File \"record.py\", line 346, in wrapper\n"
     "      return f(*args, **kwargs)\n  ValueError: the learning rate is not allowed\n  \n"
     "====================================================\n",
     "ValueError: the learning rate is not allowed", true},
    {"ranks",
     "[rank1]: Traceback (most recent call last):\n[rank1]:   File \"/tmp/train.py\", line 3, in <module>\n"
     "[rank1]:     f()\n[rank1]: ValueError: the learning rate is not allowed\n",
     "ValueError: the learning rate is not allowed", true},
    {"a launcher in Python",
     "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    f()\n"
     "ValueError: the learning rate is not allowed\nTraceback (most recent call last):\n"
     "  File \"launch.py\", line 5, in <module>\n    subprocess.run(command, check=True)\n"
     "subprocess.CalledProcessError: Command '['python3', 'train.py']' returned non-zero exit status 1.\n",
     "ValueError: the learning rate is not allowed", true},
    {"a group of exceptions",
     "  + Exception Group Traceback (most recent call last):\n  |   File \"train.py\", line 3, in <module>\n  |     "
     "f()\n"
     "  | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n  +-+---------------- 1 ----------------\n"
     "    | Traceback (most recent call last):\n    |   File \"train.py\", line 9, in f\n    |     g()\n"
     "    | ValueError: the learning rate is not allowed\n    +------------------------------------\n",
     "ValueError: the learning rate is not allowed", true},
    {"Python, ignored at its end",
     "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    f()\n"
     "ValueError: the learning rate is not allowed\nException ignored in: <function Pool.__del__ at 0x7f>\n"
     "Traceback (most recent call last):\n  File \"pool.py\", line 268, in __del__\n    self.close()\n"
     "TypeError: 'NoneType' object is not callable\n",
     "ValueError: the learning rate is not allowed", true},
    {"Python, a crash",
     "Fatal Python error: Segmentation fault\n\nCurrent thread 0x00007f (most recent call first):\n"
     "  File \"train.py\", line 3 in <module>\n\nExtension modules: numpy.core (total: 1)\n",
     "Fatal Python error: Segmentation fault", true},
    {"wandb",
     "Traceback (most recent call last):\n  File \"train.py\", line 3, in <module>\n    f()\nKeyError: 'lr'\n"
     "wandb: \nwandb: You can sync this run to the cloud by running:\nwandb: wandb sync wandb/offline-run\n",
     "KeyError: 'lr'", true},
    {"mpirun",
     "train: cannot open data.csv\n--------------------------------------------------------------------------\n"
     "Primary job  terminated normally, but 1 process returned\n"
     "a non-zero exit code. Per user-direction, the job has been aborted.\n"
     "--------------------------------------------------------------------------\n",
     "train: cannot open data.csv"},
    {"Slurm", "train: cannot open data.csv\nsrun: error: node1: task 0: Exited with exit code 1\n",
     "train: cannot open data.csv"},
    {"an exception that was handled",
     "Traceback (most recent call last):\n  File \"train.py\", line 3, in f\n    g()\nKeyError: 'cache'\n"
     "epoch 1 val_loss=0.5\nepoch 2 val_loss=0.4\nthe data end here\n",
     "the data end here"},
    {"rustc",
     "error[E0425]: cannot find value `lr` in this scope\n --> src/main.rs:2:5\n  |\n2 |     lr\n  |     ^^ not found "
     "in "
     "this scope\n\nFor more information about this error, try `rustc --explain E0425`.\n"
     "error: could not compile `train` (bin \"train\") due to 1 previous error\n",
     "error[E0425]: cannot find value `lr` in this scope"},
    {"javac", "Train.java:3: error: ';' expected\n    int x\n         ^\n1 error\n",
     "Train.java:3: error: ';' expected"},
    {"Go's flags",
     "flag provided but not defined: -ler\nUsage of train:\n  -lr float\n    \tlearning rate\nexit status 2\n",
     "flag provided but not defined: -ler"},
    {"clap",
     "error: unexpected argument '--ler' found\n\n  tip: a similar argument exists: '--lr'\n\nUsage: train --lr "
     "<LR>\n\n"
     "For more information, try '--help'.\n",
     "error: unexpected argument '--ler' found"},
    {"getopt", "train: unrecognized option '--ler'\nTry 'train --help' for more information.\n",
     "train: unrecognized option '--ler'"},
    {"absl",
     "FATAL Flags parsing error:\n  Unknown command line flag 'ler'. Did you mean: lr ?\n"
     "Pass --helpshort or --helpfull to see help on flags.\n",
     "FATAL Flags parsing error: Unknown command line flag 'ler'. Did you mean: lr ?"},
    {"Zig",
     "thread 4242 panic: the learning rate is not allowed\n/tmp/main.zig:3:5: 0x21ac in main (train)\n    "
     "@panic(\"\");\n"
     "    ^\n/usr/lib/zig/std/start.zig:524:37: 0x21b1 in posixCallMainAndExit (train)\nAborted (core dumped)\n",
     "thread 4242 panic: the learning rate is not allowed"},
    {"Tcl",
     "the learning rate is not allowed\n    while executing\n\"error {the learning rate is not allowed}\"\n"
     "    (procedure \"f\" line 1)\n    invoked from within\n\"f 0.5\"\n    (file \"t.tcl\" line 2)\n",
     "the learning rate is not allowed"},
    {"glog",
     "F1125 12:00:00.123456  4242 net.cpp:12] Check failed: lr < 1 (2 vs. 1) not allowed\n"
     "*** Check failure stack trace: ***\n    @     0x7f google::LogMessage::Fail()\nAborted (core dumped)\n",
     "F1125 12:00:00.123456  4242 net.cpp:12] Check failed: lr < 1 (2 vs. 1) not allowed"},
    {"logging", "2026-11-25 12:00:00,123 - train - ERROR - the learning rate is not allowed\nwriting the log\n",
     "2026-11-25 12:00:00,123 - train - ERROR - the learning rate is not allowed"},
    {"nbconvert",
     "Traceback (most recent call last):\n  File \"nbconvert\", line 8, in <module>\n    sys.exit(main())\n"
     "nbclient.exceptions.CellExecutionError: An error occurred while executing the following cell:\n"
     "------------------\nraise ValueError('no')\n------------------\n\n\n"
     "---------------------------------------------------------------------------\n"
     "ValueError                                Traceback (most recent call last)\nCell In[1], line 1\n"
     "----> 1 raise ValueError('no')\n\nValueError: the learning rate is not allowed\n",
     "ValueError: the learning rate is not allowed"},
    {"Docker",
     "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]].\n\n"
     "Run 'docker run --help' for more information\n",
     "docker: Error response from daemon: could not select device driver \"\" with capabilities: [[gpu]]."},
    {"Docker, an image",
     "docker: Error response from daemon: pull access denied for trainer.\nSee 'docker run --help'.\n",
     "docker: Error response from daemon: pull access denied for trainer."},
    {"MSBuild",
     "/app/Program.cs(3,9): error CS0103: The name 'lr' does not exist [/app/app.csproj]\n\n"
     "The build failed. Fix the build errors and run again.\n",
     "/app/Program.cs(3,9): error CS0103: The name 'lr' does not exist [/app/app.csproj]"},
    {"a task of Julia",
     "ERROR: LoadError: TaskFailedException\n\n    nested task error: ArgumentError: no rate\n    Stacktrace:\n"
     "      [1] train(lr::Float64)\nStacktrace:\n [1] wait(t::Task)\n   @ Base ./task.jl:351\n"
     "in expression starting at /root/train.jl:9\n",
     "ERROR: LoadError: TaskFailedException: nested task error: ArgumentError: no rate"},
    {"uv",
     "  \u00d7 No solution found when resolving dependencies:\n  \u2570\u2500\u25b6 Because torchh was not found,\n"
     "      your project's requirements are unsatisfiable.\n",
     "\u00d7 No solution found when resolving dependencies: \u2570\u2500\u25b6 Because torchh was not found,"},
    {"a bar that is drawn once more",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: the learning rate is not allowed\n"
     "Epoch 0:   0%|          | 0/100 [00:00<?, ?it/s]\n",
     "ValueError: the learning rate is not allowed", true},
    {"srun --label",
     "0: Traceback (most recent call last):\n0:   File \"a\", line 1, in f\n0: ValueError: the learning rate\n"
     "srun: error: node12: task 0: Exited with exit code 1\n",
     "ValueError: the learning rate", true},
    {"Slurm",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0.\nsrun: error: node1: task 0: Out Of Memory\n",
     "slurmstepd: error: Detected 1 oom_kill event in StepId=123.0."},
    {"TensorFlow",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\n"
     "tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:\n\n"
     "Detected at node 'dense/MatMul' defined at (most recent call last):\n    File \"a\", line 1, in f\n"
     "Node: 'dense/MatMul'\nIn[0] mismatch In[1] shape: 3 vs. 4\n\t [[{{node dense/MatMul}}]] [Op:__inference_1]\n",
     "tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:", true},
    {"Snakemake",
     "Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: the learning rate is not allowed\n"
     "Error in rule train:\n    jobid: 0\n    shell:\n        python train.py\n\n"
     "Shutting down, this might take some time.\nExiting because a job execution failed. Look above for error "
     "message\n",
     "ValueError: the learning rate is not allowed", true},
    {"red", "\x1b[31mERROR: \x1b[0mthe learning rate is not allowed\n", "ERROR: the learning rate is not allowed"},
};

TEST(FailureReason, IsTheErrorsLineInEachLanguage) {
    EXPECT_GE(std::size(printed), 30u);
    for (const Printed& one : printed) {
        const FailureReason reason = failure_reason(one.output);
        EXPECT_EQ(reason.text.substr(0, reason.text.find('\n')), one.reason) << one.by;
        EXPECT_EQ(reason.fatal, one.fatal) << one.by;
        // The same error after a long training.
        std::string after;
        for (int i = 0; i < 40; ++i) after += "epoch " + std::to_string(i) + " val_loss=0.5\n";
        EXPECT_EQ(failure_reason(after + one.output).text, reason.text) << one.by;
    }
}

TEST(FailureReason, NamesTheCausesOfAJavaException) {
    EXPECT_EQ(
        text("Exception in thread \"main\" java.lang.RuntimeException: training\n\tat Train.main(Train.java:9)\n"
             "Caused by: java.io.IOException: data\n\tat Train.f(Train.java:4)\n"
             "Caused by: java.lang.IllegalArgumentException: the learning rate\n\t... 1 more\n"),
        "Exception in thread \"main\" java.lang.RuntimeException: training\nCaused by: java.io.IOException: data\n"
        "Caused by: java.lang.IllegalArgumentException: the learning rate");
}

TEST(FailureReason, IsFatalOnlyIfTheErrorEndsTheOutput) {
    const std::string raised = "Traceback (most recent call last):\n  File \"a\", line 1, in f\nValueError: no\n";
    EXPECT_TRUE(failure_reason(raised).fatal);
    EXPECT_FALSE(failure_reason(raised + "goes on without a cache\n").fatal);
    EXPECT_EQ(text(raised + "cleaning up\n").substr(0, 14), "ValueError: no");
    EXPECT_FALSE(failure_reason("Error: 0.25\n").fatal) << "a metric";
    EXPECT_FALSE(failure_reason("epoch 1\ndone\n").fatal);
    EXPECT_FALSE(failure_reason("").fatal);
}

TEST(FailureReason, ItsEvidenceIsTheErrorAndWhatItFollowedFromButNotWhatWasHandledBefore) {
    const std::string frames = "Traceback (most recent call last):\n  File \"a\", line 1, in f\n    g()\n";
    const std::string memory = frames + "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB\n";
    const std::string error = frames + "ValueError: no batch fits\n";
    EXPECT_EQ(failure_reason(memory + "skipped\n" + error).evidence, "ValueError: no batch fits");
    for (const char* chain : {"\nDuring handling of the above exception, another exception occurred:\n\n",
                              "\nThe above exception was the direct cause of the following exception:\n\n"})
        EXPECT_EQ(
            failure_reason(memory + chain + error).evidence,
            "ValueError: no batch fits\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20 MiB");
    EXPECT_EQ(failure_reason("RuntimeWarning: MemoryError, smaller batch\nepoch 1 loss=0.5\nno data\n").evidence,
              "no data");
}

}  // namespace
}  // namespace hpo::script

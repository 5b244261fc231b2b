"""Completion in the real shells, without a terminal."""
import os
import shutil
import subprocess
import unittest

from harness import BUILD, DEADLINE, HPO, SOURCE, Case

BASH = """
source <(hpo completion bash)
COMP_LINE=$1
COMP_POINT=${#1}
_hpo
printf '%s\\n' "${COMPREPLY[@]}"
"""

# compadd needs the line editor: a function shows its arguments.
ZSH = """
compadd() {
    local suffix name
    while [[ $1 == -* ]]; do
        case $1 in
            -S) suffix=" (open)"; shift 2 ;;
            -d) shift 2 ;;
            -a) name=$2; shift 2 ;;
            *) shift ;;
        esac
    done
    print -l -- ${(P)name}
}
_files() { print files }
source <(hpo completion zsh)
words=("${(@s: :)1}")
CURRENT=${#words}
_hpo
"""

FISH = """
hpo completion fish | source
complete -C $argv[1]
"""


class Completion(Case):
    def setUp(self):
        super().setUp()
        (self.folder / "studies").symlink_to(SOURCE / "studies")
        self.hpo("run", "studies/debug.yaml", "--trials", "2", "--set", "budget.epochs=1", "-q")

    def complete(self, shell, line):
        script, call = {"bash": (BASH, ["bash", "--norc", "-c"]), "zsh": (ZSH, ["zsh", "-f", "-c"]),
                        "fish": (FISH, ["fish", "--no-config", "-c"])}[shell]
        named = [] if shell == "fish" else [shell]
        done = subprocess.run([*call, script, *named, line], cwd=self.folder, capture_output=True, text=True, timeout=120,
                              stdin=subprocess.DEVNULL, env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
        self.assertEqual((done.returncode, done.stderr), (0, ""), line)
        return [line.split("\t")[0] for line in done.stdout.split("\n") if line]

    def each_shell(self):
        for shell in ("bash", "zsh", "fish"):
            if shutil.which(shell) is None:
                self.skipTest(f"{shell} is not installed")
            yield shell

    def test_commands_options_and_choices(self):
        for shell in self.each_shell():
            self.assertEqual(sorted(self.complete(shell, "hpo comp")), ["compare", "completion"])
            self.assertEqual(sorted(self.complete(shell, "hpo run x.yaml --t")), ["--time", "--trials"])
            self.assertIn("args", self.complete(shell, "hpo best --format "))

    def test_studies_files_and_trials(self):
        for shell in self.each_shell():
            self.assertIn("studies/debug.yaml", self.complete(shell, "hpo run studies/de"))
            self.assertIn("debug", self.complete(shell, "hpo ls "))
            self.assertEqual(sorted(self.complete(shell, "hpo show debug ")), ["1", "2"])
            self.assertEqual(sorted(self.complete(shell, "hpo compare debug/1 debug/")), ["debug/1", "debug/2"])

    def test_keys_and_their_values(self):
        for shell in self.each_shell():
            self.assertEqual(self.complete(shell, "hpo run studies/debug.yaml --set space.lr.lo"),
                             ["space.lr.low=", "space.lr.log="] if shell != "fish" else ["space.lr.log=", "space.lr.low="])
            values = self.complete(shell, "hpo run studies/debug.yaml --set objective.at=")
            # Bash has split the word at = and wants only what follows.
            self.assertEqual(sorted(values), ["best", "last"] if shell == "bash" else ["objective.at=best", "objective.at=last"])

    def test_where_hpo_has_no_words_the_shell_offers_files(self):
        (self.folder / "only.csv").write_text("a\n")
        self.assertEqual(self.complete("bash", "hpo predict "), [])  # -o default follows
        if shutil.which("zsh"):
            self.assertEqual(self.complete("zsh", "hpo predict "), ["files"])
        if shutil.which("fish"):
            self.assertIn("only.csv", self.complete("fish", "hpo predict m.safetensors onl"))

    def test_another_shell_is_told_which_ones_have_it(self):
        done = subprocess.run([HPO, "completion", "tcsh"], capture_output=True, text=True, timeout=DEADLINE)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for word in ("tcsh", "bash", "zsh", "fish"):
            self.assertIn(word, done.stderr)

    def test_an_interactive_bash_takes_the_script(self):
        bash = subprocess.run(["bash", "--norc", "-i"], input='source <(hpo completion bash)\ncomplete -p hpo\nexit\n',
                              cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": f"{BUILD / 'bin'}:{os.environ['PATH']}"})
        self.assertIn("complete -o default -F _hpo hpo", bash.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)

"""hpo on a pseudo-terminal of 100 x 30: the live block, Ctrl-C as a key, and hpo top."""
import fcntl
import os
import pty
import re
import select
import shutil
import signal
import struct
import termios
import time
import unittest

from harness import DEADLINE, HPO, Case, synthetic, wait_for


class Screen:
    """A child on a pseudo-terminal, with all its output."""

    def __init__(self, folder, *arguments, environment=None):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update({"TERM": "xterm", "LANG": "C.UTF-8", **(environment or {})})
            os.execv(HPO, [HPO, *map(str, arguments)])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        self.text = ""
        self.status = None

    def read(self, seconds=0.05):
        if select.select([self.fd], [], [], seconds)[0]:
            try:
                self.text += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:  # the child has closed its side
                pass

    def until(self, text, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while text not in self.text:
            assert time.monotonic() < end, f"no {text!r} in {self.text[-2000:]!r}"
            self.read()

    def press(self, keys):
        os.write(self.fd, keys.encode())

    def wait(self, deadline=DEADLINE):
        end = time.monotonic() + deadline
        while True:
            self.read()
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
                self.read()
                os.close(self.fd)
                return self.status
            if time.monotonic() > end:
                os.kill(self.pid, signal.SIGKILL)
                raise AssertionError(f"did not end; {self.text[-2000:]!r}")


class Terminal(Case):
    def test_run_draws_a_live_block_and_ends_with_the_report(self):
        screen = Screen(self.folder, "run", self.study(synthetic(trials=6, samples=20000)))
        self.assertEqual(screen.wait(), 0)
        self.assertIn("\x1b[", screen.text)
        self.assert_mentions(screen.text, "6", "finished")
        self.assertIn(": best val_loss ", screen.text)

    def test_no_color_disables_colours(self):
        screen = Screen(self.folder, "run", self.study(synthetic(trials=3)), environment={"NO_COLOR": "1"})
        self.assertEqual(screen.wait(), 0)
        self.assertNotRegex(screen.text, r"\x1b\[[0-9;]*m")

    def test_ctrl_c_interrupts_the_study_and_prints_how_to_resume(self):
        screen = Screen(self.folder, "run", self.study(synthetic(trials=500, epochs=50, samples=20000)))
        wait_for(lambda: screen.read() or any(t["steps"] for t in self.trials_so_far("small")))
        screen.press("\x03")
        self.assertEqual(screen.wait(20), 130)
        self.assertIn("interrupted", screen.text)
        self.assertIn("hpo run", screen.text)
        self.assert_nobody_left()

    def test_top_shows_trials_sorts_them_opens_details_and_restores_the_terminal(self):
        self.hpo("run", self.study(synthetic(trials=4)))
        screen = Screen(self.folder, "top", "small")
        screen.until("TRIAL")
        screen.press("s")
        screen.press("\r")
        screen.until("esc back")
        seen, screen.text = screen.text, ""
        screen.press("\x1b")
        screen.until("enter details")  # an escape and a letter that arrive together would be one key
        screen.press("q")
        self.assertEqual(screen.wait(), 0)
        self.assertIn("\x1b[?1049h", seen)
        self.assertIn("\x1b[?1049l", screen.text)

    def test_top_switches_between_studies(self):
        study = self.study(synthetic(trials=4))
        self.hpo("run", study)
        self.hpo("run", study, "--set", "study=second", "--trials", "2")
        screen = Screen(self.folder, "top", "small", environment={"NO_COLOR": "1"})
        screen.until("1/4")
        screen.press("w")
        screen.until("small  (shown)")
        self.assertIn("> second", screen.text, "the one changed last first")
        screen.text = ""
        screen.press("\r")
        screen.until("1/2")
        self.assertIn("second  finished", screen.text)
        screen.press("w")
        screen.until("second  (shown)")
        shutil.rmtree(self.folder / "runs" / "small")
        screen.text = ""
        screen.press("j\r")  # it may have been listed before
        screen.until("1/2")
        screen.press("q")
        self.assertEqual(screen.wait(), 0)

    def test_top_overwrites_the_whole_screen_after_a_resize(self):
        self.hpo("run", self.study(synthetic(trials=4)))
        screen = Screen(self.folder, "top", "small", environment={"NO_COLOR": "1"})
        screen.until("1/4")
        for height, width in ((10, 40), (60, 250), (24, 80)):
            screen.text = ""
            fcntl.ioctl(screen.fd, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
            # A frame that was on its way may come first.
            wait_for(lambda: screen.read() or any(frame.count("\r\n") == height - 1 for frame in frames(screen.text)))
            frame = next(frame for frame in frames(screen.text) if frame.count("\r\n") == height - 1)
            rows = drawn(frame, height, width)
            self.assertNotIn("#", "".join(rows), "every cell is written or erased")
            self.assertTrue(rows[-1].rstrip().endswith("1/4"), rows)
        screen.press("q")
        self.assertEqual(screen.wait(), 0)

    def test_top_filters_and_sorts_what_it_prints(self):
        self.hpo("run", self.study(synthetic(trials=4)))
        rows = [line.split() for line in self.hpo("top", "small", "--once", "--sort", "trial", "--filter", "trial>1").splitlines()]
        self.assertEqual([row[0] for row in rows if row and row[0].isdigit()], ["2", "3", "4"])
        self.hpo("top", "small", "--once", "--filter", "trail=1", status=2)
        self.assert_mentions(self.error, "similar", "trial")
        self.hpo("top", "small", "--sort", "lrr", status=2)
        self.assert_mentions(self.error, "no parameter", "lrr")


def frames(text):
    """The complete pictures in the bytes that a terminal was sent."""
    return re.findall(r"\x1b\[\?2026h(.*?)\x1b\[\?2026l", text, re.DOTALL)


def drawn(frame, height, width):
    """The rows of a terminal that was full of # before the frame."""
    rows = [["#"] * width for _ in range(height)]
    y = x = 0
    for code, letter in re.findall(r"(\x1b\[[?0-9;]*[A-Za-z])|(.)", frame, re.DOTALL):
        if code == "\x1b[H":
            y = x = 0
        elif code == "\x1b[2K":
            rows[y] = [" "] * width
        elif letter == "\r":
            x = 0
        elif letter == "\n":
            y += 1
        elif letter:
            rows[y][x] = letter
            x += 1
    return ["".join(row) for row in rows]


if __name__ == "__main__":
    unittest.main(verbosity=2)

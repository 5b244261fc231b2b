#!/usr/bin/env python3
"""Tests pin facts, not prose: numbers, keys, places, options, commands and quoted input, and of the words around them at most one
at a time, so that English can be bettered without touching tests.

A pin is a text that a C++ test looks for with one of MATCHERS. It is prose if two English words stand side by side in it:
lowercase, of at least two letters, with a single space between them, and neither quoted nor a command (`hpo run`). A comparative
("at least 72", "faster than") and a negation ("not running", "no images", "cannot be read") are facts as the number is: without them a message
may say the opposite. A pin that is a part of a
text that the test itself writes elsewhere (what a script prints, the name of a series) is none.
Say the same with Mentions (tests/support/mentions.hpp): Mentions("s.yaml:6", "'lr'", "twice") for "s.yaml:6: 'lr' is given twice",
and with MentionsInOrder where the facts mean something else in another order ("9 GiB of 16 GiB").
Pins that are no prose although they look so (input of the test, titles of a table) are listed in pins_allowed.txt, one
`FILE: PIN` a line. A line that matches no pin any more must go, so the list only shrinks.

A sentence that a test compares as a whole, with one of EQUALITIES, pins all of its words: it has at least SENTENCE of them side by
side. How many of these each file still has is in pins_whole.txt, one `FILE: NUMBER` a line; a number only falls.

End-to-end tests in Python look for texts by the assertions of PYTHON_PINS, by `in`, and compare whole ones by assertEqual and its like. How
many pins of prose and whole sentences each file has is in pins_python.txt, which only falls, too.

pins_test.py --list prints the pins that are prose, as that file has them; --whole prints pins_whole.txt, --sentences its sentences;
--python prints pins_python.txt, --python-list its pins.
"""

import ast
import collections
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).parent
ALLOWED = TESTS / "pins_allowed.txt"
WHOLE = TESTS / "pins_whole.txt"
MATCHERS = ("HasSubstr", "Mentions", "MentionsInOrder", "StartsWith", "EndsWith", "ContainsRegex", "MatchesRegex")
EQUALITIES = ("EXPECT_EQ", "ASSERT_EQ", "EXPECT_STREQ", "Eq", "StrEq", "Contains", "ElementsAre", "UnorderedElementsAre", "Pair")
SENTENCE = 3
PYTHON = TESTS / "pins_python.txt"
PYTHON_PINS = ("assertIn", "assertNotIn", "assertRegex", "assertNotRegex", "assertRaisesRegex", "count", "index", "find", "startswith", "endswith")
PYTHON_EQUALITIES = ("assertEqual", "assertListEqual", "assertCountEqual", "assertMultiLineEqual", "assertNotEqual")

CALL = re.compile(r"\b(?:(" + "|".join(MATCHERS) + ")|(?:" + "|".join(EQUALITIES) + r"))\($")
TOKEN = re.compile(r'R"(?P<mark>[^()\\ ]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|//[^\n]*|(?P<open>\()|(?P<close>\))',
                   re.DOTALL)
QUOTED = re.compile(r"""'[^'\n]*'|\\"[^"\n]*\\"|"[^"\n]*"|`[^`\n]*`""")
# What the C library says.
SYSTEM = re.compile(r"[Nn]o such file( or directory)?|[Pp]ermission denied|[Nn]o space left( on device)?|[Ii]nput/output error")
# What a number or a place is compared by.
COMPARATIVE = re.compile(r"\b(?:at (?:least|most)|(?:more|less|fewer|better|wider|faster|slower) than|above|below|before|after|up to)\b")
# A negation with its word, and comparatives that are none in a whole sentence.
NEGATION = re.compile(r"\b(?:not? [a-z]+|cannot be [a-z]+|too (?:few|many|small|large|long)|instead of|within)\b")
COMMAND = re.compile(r"\bhpo [a-z][a-z-]*(?: --[\w-]+| [A-Z]+| \w*[\d_./][\w./]*)*")
PROSE = re.compile(r"(?<![\w.'{/<=-])[a-z]{2,}(?: [a-z]{2,})+(?![\w.'}/>=-]|:\w)")


def texts(source):
    """The string literals of a source: (text, "pin" in a matcher's call, "whole" in that of an equality, otherwise "", offset).
    Adjacent literals are one text."""
    at, calls, depth = 0, [], 0  # calls: the depths of parentheses at which the calls around began, and their kinds
    text, began, ended = None, 0, 0
    while token := TOKEN.search(source, at):
        at = token.end()
        piece = token["raw"] if token["text"] is None else token["text"]
        if text is not None and (piece is None or source[ended : token.start()].strip()):
            kinds = {kind for _, kind in calls}
            yield text, "pin" if "pin" in kinds else "whole" if kinds else "", began
            text = None
        if piece is not None:
            began = began if text is not None else token.start()
            text = piece if text is None else text + piece
            ended = at
        elif token["close"]:
            depth -= 1
            if calls and calls[-1][0] == depth:
                calls.pop()
        elif token["open"]:
            if call := CALL.search(source, max(0, at - 40), at):
                calls.append((depth, "pin" if call[1] else "whole"))
            depth += 1


def prose_of(pin, input_texts, whole=False):
    """The English of a pin, or of a sentence that is compared as a whole: runs of words. A pin that the test's own input has is none."""
    plain = pin.replace(r"\n", "\n").replace(r"\t", "\t")
    if any(plain.strip() in text for text in input_texts):
        return []
    plain = plain if whole else NEGATION.sub("NEGATED", plain)
    return PROSE.findall(COMPARATIVE.sub("COMPARED", SYSTEM.sub("SYSTEM", COMMAND.sub("HPO", QUOTED.sub("QUOTED", plain)))))


def prose():
    for file in sorted(TESTS.glob("**/*.[ch]pp")):
        found = list(texts(file.read_text()))
        input_texts = [text for text, kind, _ in found if kind != "pin"]
        for text, kind, at in found:
            if kind == "pin" and prose_of(text, input_texts):
                yield str(file.relative_to(TESTS)), at, text


def sentences():
    """The sentences that are compared as a whole: (file, line, text)."""
    for file in sorted(TESTS.glob("**/*.[ch]pp")):
        source = file.read_text()
        found = list(texts(source))
        input_texts = [text for text, kind, _ in found if not kind]
        for text, kind, at in found:
            if kind == "whole" and any(len(run.split()) >= SENTENCE for run in prose_of(text, input_texts, True)):
                yield str(file.relative_to(TESTS)), source.count("\n", 0, at) + 1, text


def python_texts(source):
    """The string literals of a Python test: (text, kind as in texts(), line). What an f-string fills in is a placeholder."""

    def walk(node, kind):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "{}" for part in node.values), kind, node.lineno
        elif isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                yield node.value, kind, node.lineno
            return
        elif isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            yield from walk(node.func, kind)
            for at, argument in enumerate(node.args):
                # Of assertIn(a, b) the first is looked for, of assertRegex(a, b) the second, of assert_mentions(a, ...) all but the first.
                looked_for = (name in PYTHON_PINS and at == (1 if "Regex" in name else 0)) or (name == "assert_mentions" and at > 0)
                compared = name in PYTHON_EQUALITIES and at < 2
                yield from walk(argument, "pin" if looked_for else kind or "whole" if compared else kind)
            for keyword in node.keywords:
                yield from walk(keyword.value, kind)
        elif isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.In, ast.NotIn)):
            yield from walk(node.left, "pin")
            for right in node.comparators:
                yield from walk(right, kind)
        else:
            for child in ast.iter_child_nodes(node):
                yield from walk(child, kind)

    yield from walk(ast.parse(source), "")


def python_prose():
    """The pins of prose and the whole sentences of the tests in Python: (file, line, text)."""
    for file in sorted(TESTS.glob("e2e/*.py")):
        found = list(python_texts(file.read_text()))
        input_texts = [text for text, kind, _ in found if not kind]
        for text, kind, line in found:
            least = {"pin": 2, "whole": SENTENCE}.get(kind)
            if least and any(len(run.split()) >= least for run in prose_of(text, input_texts, kind == "whole")):
                yield str(file.relative_to(TESTS)), line, text


def too_many(found, listed, noun):
    """Prints which files have more texts than `listed` has, or fewer. Returns whether any has."""
    counts = collections.Counter(name for name, _, _ in found)
    kept = {name: int(count) for name, count in (line.split(": ") for line in listed.read_text().splitlines())}
    wrong = {name for name in counts.keys() | kept.keys() if counts[name] != kept.get(name, 0)}
    for name in sorted(wrong):
        if counts[name] < kept.get(name, 0):
            print(f"tests/{listed.name}: {name} has {counts[name]} {noun} now: write that number, or take the line out at 0")
            continue
        print(f"tests/{name}: has {counts[name]} {noun}, {kept.get(name, 0)} before; pin the facts of the new one: its numbers, keys and places")
    return bool(wrong)


def main():
    option = "".join(sys.argv[1:])
    if option in ("--whole", "--python"):
        for name, count in sorted(collections.Counter(name for name, _, _ in (sentences() if option == "--whole" else python_prose())).items()):
            print(f"{name}: {count}")
        return 0
    if option in ("--sentences", "--python-list"):
        for name, line, text in sentences() if option == "--sentences" else python_prose():
            print(f"tests/{name}:{line}: {text}".replace("\n", "\\n"))
        return 0
    found = {}
    for name, at, text in prose():
        line = (TESTS / name).read_text().count("\n", 0, at) + 1
        found.setdefault(f"{name}: {text}".replace("\n", "\\n"), line)
    if sys.argv[1:] == ["--list"]:
        print("\n".join(sorted(found)))
        return 0
    allowed = ALLOWED.read_text().splitlines()
    new = sorted(set(found) - set(allowed))
    gone = sorted(set(allowed) - set(found))
    for pin in new:
        print(f"tests/{pin.split(': ')[0]}:{found[pin]}: pins prose: {pin.split(': ', 1)[1]}\n    pin its facts alone: Mentions(...) of tests/support/mentions.hpp")
    for pin in gone:
        print(f"tests/pins_allowed.txt: no test has this pin any more; take the line out: {pin}")
    if allowed != sorted(set(allowed)):
        print("tests/pins_allowed.txt: sort its lines, each once")
        return 1
    wrong = [too_many(sentences(), WHOLE, "whole sentences"), too_many(python_prose(), PYTHON, "pins of prose")]
    return 1 if any(wrong) or new or gone else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Tests pin facts, not prose: numbers, keys, places, options, commands and quoted input, and of the words around them at most one
at a time, so that English can be bettered without touching tests.

A pin is a text that a C++ test looks for with one of MATCHERS. It is prose if two English words stand side by side in it:
lowercase, of at least two letters, with a single space between them, and neither quoted nor a command (`hpo run`). A comparative
("at least 72", "faster than") and a negation ("not running", "cannot be read") are facts as the number is: without them a message
may say the opposite. A pin that is a part of a
text that the test itself writes elsewhere (what a script prints, the name of a series) is none.
Say the same with Mentions (tests/support/mentions.hpp): Mentions("s.yaml:6", "'lr'", "twice") for "s.yaml:6: 'lr' is given twice".
Pins that are no prose although they look so (input of the test, titles of a table) are listed in pins_allowed.txt, one
`FILE: PIN` a line. A line that matches no pin any more must go, so the list only shrinks.

A sentence that a test compares as a whole, with one of EQUALITIES, pins all of its words: it has at least SENTENCE of them side by
side. How many of these each file still has is in pins_whole.txt, one `FILE: NUMBER` a line; a number only falls.

pins_test.py --list prints the pins that are prose, as that file has them; --whole prints the other file, --sentences its sentences.
"""

import collections
import pathlib
import re
import sys

TESTS = pathlib.Path(__file__).parent
ALLOWED = TESTS / "pins_allowed.txt"
WHOLE = TESTS / "pins_whole.txt"
MATCHERS = ("HasSubstr", "Mentions", "StartsWith", "EndsWith", "ContainsRegex", "MatchesRegex")
EQUALITIES = ("EXPECT_EQ", "ASSERT_EQ", "EXPECT_STREQ", "Eq", "StrEq", "Contains", "ElementsAre", "UnorderedElementsAre", "Pair")
SENTENCE = 3

CALL = re.compile(r"\b(?:(" + "|".join(MATCHERS) + ")|(?:" + "|".join(EQUALITIES) + r"))\($")
TOKEN = re.compile(r'R"(?P<mark>[^()\\ ]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:[^"\\\n]|\\.)*)"|\'(?:[^\'\\]|\\.)\'|//[^\n]*|(?P<open>\()|(?P<close>\))',
                   re.DOTALL)
QUOTED = re.compile(r"""'[^'\n]*'|\\"[^"\n]*\\"|"[^"\n]*"|`[^`\n]*`""")
# What the C library says.
SYSTEM = re.compile(r"[Nn]o such file( or directory)?|[Pp]ermission denied|[Nn]o space left( on device)?|[Ii]nput/output error")
# What a number or a place is compared by.
COMPARATIVE = re.compile(r"\b(?:at (?:least|most)|(?:more|less|fewer|better|wider|faster|slower) than|above|below|before|after|up to)\b")
# A negation with its word, and comparatives that are none in a whole sentence.
NEGATION = re.compile(r"\b(?:not [a-z]+|cannot be [a-z]+|too (?:few|many|small|large|long)|instead of|within)\b")
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


def too_many_sentences():
    """Prints where there are more sentences than pins_whole.txt has, or fewer. Returns whether there are."""
    counts = collections.Counter(name for name, _, _ in sentences())
    kept = {name: int(count) for name, count in (line.split(": ") for line in WHOLE.read_text().splitlines())}
    wrong = {name for name in counts.keys() | kept.keys() if counts[name] != kept.get(name, 0)}
    for name in sorted(wrong):
        if counts[name] < kept.get(name, 0):
            print(f"tests/pins_whole.txt: {name} has {counts[name]} whole sentences now: write that number, or take the line out at 0")
            continue
        print(f"tests/{name}: compares {counts[name]} whole sentences, {kept.get(name, 0)} before; pin the facts of the new one: Mentions(...)")
    return bool(wrong)


def main():
    if sys.argv[1:] == ["--whole"]:
        for name, count in sorted(collections.Counter(name for name, _, _ in sentences()).items()):
            print(f"{name}: {count}")
        return 0
    if sys.argv[1:] == ["--sentences"]:
        for name, line, text in sentences():
            print(f"tests/{name}:{line}: {text}")
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
    return 1 if too_many_sentences() or new or gone else 0


if __name__ == "__main__":
    sys.exit(main())

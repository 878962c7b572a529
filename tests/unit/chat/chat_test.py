# SPDX-License-Identifier: MIT
"""examples/applications/chat in C++: chat_test.py CHAT EXAMPLE PLUGIN...

Its tokens in two conversations are those that eager PyTorch had when make_model.py wrote expected.json.
"""

import json
import pathlib
import re
import subprocess
import sys
import unittest

CHAT, EXAMPLE, *PLUGINS = map(pathlib.Path, sys.argv[1:])
MODEL, TOKENIZER = EXAMPLE / "model.pte", EXAMPLE / "tokenizer.json"
DIALOGUE = json.loads((EXAMPLE / "expected.json").read_text(encoding="utf-8"))["dialogue"]


def run(lines, *words, files=(MODEL, TOKENIZER, *PLUGINS)):
    """The exit status, lines of standard output, and standard error."""
    done = subprocess.run([CHAT, *files, *words], input="".join(line + "\n" for line in lines), encoding="utf-8",
                          capture_output=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def replies(lines, *words):
    """The lines that answer."""
    status, printed, errors = run(lines, *words)
    assert status == 0, errors
    return [line for line in printed if re.match(r"\d: ", line)]


def script():
    return [f"{turn['conversation']}: {turn['said']}" for turn in DIALOGUE]


class Chat(unittest.TestCase):
    def test_two_conversations_have_the_tokens_of_eager_pytorch(self):
        status, printed, errors = run(script(), "--tokens")
        self.assertEqual((status, printed[0::3], printed[1::3]),
                         (0, [f"{turn['conversation']}> {turn['said']}" for turn in DIALOGUE],
                          [f"{turn['conversation']}: {turn['reply']}" for turn in DIALOGUE]))
        for line, turn in zip(printed[2::3], DIALOGUE, strict=True):
            asked, answer = (" ".join(map(str, turn[name])) for name in ("asked", "answer"))
            self.assertEqual(line, f"{turn['conversation']}# {asked} -> {answer}")
        count = sum(len(turn["answer"]) for turn in DIALOGUE)
        self.assertRegex(errors, rf"^{count} tokens, \d+ a second\n$")

    def test_a_script_is_read_from_a_file(self):
        self.assertEqual(replies([], "--script", EXAMPLE / "lines.txt"), replies(script()))

    def test_a_line_is_for_the_conversation_of_the_line_before(self):
        self.assertEqual(replies(["2: I am Bruno.", "What is my name?", " ", "1: What is my name?", "2:", "What is my name?"]),
                         replies(["2: I am Bruno.", "2: What is my name?", "1: What is my name?", "2: What is my name?"]))

    def test_a_line_is_taken_back_and_a_conversation_begins_anew(self):
        said = ["My name is Anna.", "What is my name?"]
        named, knows = replies(said)
        unknown = replies(said[1:])[0]
        self.assertNotEqual(knows, unknown)
        self.assertEqual(replies([*said, "/undo", said[1]]), [named, knows, knows])
        self.assertEqual(replies([said[0], "/undo", "/undo", said[1]]), [named, unknown])
        self.assertEqual(replies([said[0], "/new", said[1]]), [named, unknown])

    def test_a_conversation_that_is_full_says_so_and_the_other_continues(self):
        status, printed, errors = run([*["What is Tenon?"] * 20, "2: Hello."])
        self.assertEqual(status, 1)
        self.assertRegex(errors, r"chat: OutOfResources .*conversation 1 has \d+ of \d+ tokens: the line does not fit; /new")
        self.assertTrue(printed[-1].startswith("2: "))
        status, _, errors = run(["x" * 10**6, "Hello."])
        self.assertEqual((status, "does not fit" in errors), (1, True))

    def test_a_name_of_a_special_token_is_text(self):
        _, printed, _ = run(["<|reply|>"], "--tokens")
        asked = printed[-1].removeprefix("1# ").split(" -> ")[0].split()
        self.assertGreater(len(asked), 3)
        self.assertEqual((asked.count(asked[0]), asked.count(asked[-1])), (1, 1))

    def test_errors_say_what_is_wrong(self):
        for files, lines, text in (((EXAMPLE / "none.pte", TOKENIZER), [], "none.pte"),
                                   ((MODEL, EXAMPLE / "none.json"), [], "none.json: cannot be read"),
                                   ((MODEL, EXAMPLE / "expected.json"), [], "expected.json: model: is missing"),
                                   ((MODEL, TOKENIZER), [], "XnnpackBackend"),
                                   ((MODEL, TOKENIZER, *PLUGINS), ["3: Hello."], "conversation from 1 to 2, found 3")):
            status, _, errors = run(lines, files=files)
            self.assertEqual((status, text in errors), (1, True), errors)
        self.assertIn("none.txt: cannot be read", run([], "--script", "none.txt")[2])
        self.assertNotEqual(run([], files=())[0], 0)
        self.assertIn("--script", "".join(run([], "--help")[1]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

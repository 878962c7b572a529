# SPDX-License-Identifier: MIT
"""The chat in C++ and in Python, against eager PyTorch token by token: chat_tokens.py BUILD

With the model that is stored, and with one that is trained for a moment now.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE, BUILD = pathlib.Path(__file__).resolve().parents[3], pathlib.Path(sys.argv.pop(1)).resolve()
EXAMPLE = SOURCE / "examples/applications/chat"
CHAT = BUILD / "examples/applications/chat/chat"
PLUGINS = [BUILD / "examples/backends/executorch" / name for name in ("xnnpack.so", "executorch_kernels.so")]
STEPS = "150"  # Enough for replies that end.


def run(command, lines=""):
    """What a command prints."""
    environment = dict(os.environ, PYTHONPATH=str(BUILD / "examples/python"), PYTHONDONTWRITEBYTECODE="1")
    done = subprocess.run(command, input=lines, capture_output=True, encoding="utf-8", errors="replace", env=environment,
                          check=False)
    if done.returncode != 0:
        raise AssertionError(f"{command}: exit status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


class Tokens(unittest.TestCase):
    def compare(self, folder):
        dialogue = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["dialogue"]
        lines = "".join(f"{turn['conversation']}: {turn['said']}\n" for turn in dialogue)
        files = [folder / "model.pte", folder / "tokenizer.json", *PLUGINS, "--tokens"]
        for command in ([CHAT], [sys.executable, EXAMPLE / "chat.py"]):
            printed = run([*command, *files], lines).splitlines()
            for number in (1, 2):
                with self.subTest(folder=folder.name, program=command[-1].name, conversation=number):
                    found = [line for line in printed if line.startswith(f"{number}# ")]
                    self.assertEqual(found, [f"{number}# {' '.join(map(str, turn['asked']))} -> "
                                             f"{' '.join(map(str, turn['answer']))}".rstrip(" ")
                                             for turn in dialogue if turn["conversation"] == number])

    def test_the_stored_model_has_pytorchs_tokens(self):
        self.compare(EXAMPLE)

    def test_a_model_that_is_trained_now_has_pytorchs_tokens(self):
        with tempfile.TemporaryDirectory(prefix="tenon-chat-") as folder:
            run([sys.executable, EXAMPLE / "make_model.py", "--steps", STEPS, "--output", folder])
            self.compare(pathlib.Path(folder))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])

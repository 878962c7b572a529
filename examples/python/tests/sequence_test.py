# SPDX-License-Identifier: MIT
"""States of sequences: sequence_test.py BUILD SOURCE. Needs NumPy and the ExecuTorch wheel, not PyTorch."""

import asyncio
import gc
import json
import pathlib
import subprocess
import sys
import unittest

import numpy as np

import tenon

BUILD, SOURCE = map(pathlib.Path, sys.argv[1:3])
# Adds its input to a buffer, and gives the double of it.
MODEL = SOURCE / "tests/fixtures/mutable_buffer_portable/model.pte"
CHAT = SOURCE / "examples/applications/chat"
KERNELS = BUILD / "examples/backends/executorch/executorch_kernels.so"
XNNPACK = BUILD / "examples/backends/executorch/xnnpack.so"
sys.path.append(str(CHAT))
DIALOGUE = json.loads((CHAT / "expected.json").read_text(encoding="utf-8"))["dialogue"]
X = np.array([1, 2, 3, 4], np.float32)

ELSEWHERE = """
import sys
import numpy as np
import tenon
sequence = tenon.load(sys.argv[1], plugins=[sys.argv[2]])["forward"].sequence()
sequence.restore(sys.stdin.buffer.read())
print(sequence.position, sequence(np.array([1, 2, 3, 4], np.float32)).tolist())
"""


def load():
    return tenon.load(MODEL, plugins=[KERNELS])["forward"]


def runs(sequence, count):
    return [sequence(X).tolist() for _ in range(count)]


@unittest.skipUnless(KERNELS.exists(), "built without the ExecuTorch wheel")
class Sequences(unittest.TestCase):
    def test_a_sequence_returns_and_branches(self):
        sequence = load().sequence()
        self.assertEqual((sequence.position, sequence.capacity, sequence.nbytes), (0, 0, 16))
        all = runs(sequence, 5)
        self.assertEqual(all[0], [2, 4, 6, 8])
        self.assertNotEqual(all[0], all[1])
        sequence.rewind(3)
        self.assertEqual(sequence.position, 2)
        branch = sequence.fork()
        self.assertEqual(runs(sequence, 3), all[2:])
        self.assertEqual(runs(branch, 3), all[2:])
        branch.clear()
        self.assertEqual((branch.position, runs(branch, 5)), (0, all))
        self.assertEqual(repr(branch), "<tenon.Sequence of forward at 5>")
        self.assertGreater(branch.journal_nbytes, 0)

    def test_a_state_is_taken_up_in_another_process(self):
        sequence = load().sequence()
        runs(sequence, 3)
        stored = sequence.save()
        [expected] = runs(sequence, 1)
        found = subprocess.run([sys.executable, "-c", ELSEWHERE, MODEL, KERNELS], input=stored,
                               stdout=subprocess.PIPE, check=True).stdout.decode()
        self.assertEqual(found.strip(), f"3 {expected}")
        with self.assertRaises(tenon.Error) as caught:
            sequence.restore(stored[:-1])
        self.assertEqual(caught.exception.name, "InvalidExternalData")

    def test_what_cannot_be_reached_is_refused(self):
        sequence = load().sequence(capacity=3)
        self.assertEqual(sequence.execute([X], tokens=2)[0].tolist(), [2, 4, 6, 8])
        for name, tokens in (("InvalidArgument", 1), ("InvalidArgument", 3)):
            with self.assertRaises(tenon.Error) as caught:
                sequence.rewind(tokens)
            self.assertEqual(caught.exception.name, name)
        with self.assertRaises(tenon.Error) as caught:
            sequence(X, tokens=2)
        self.assertEqual(caught.exception.name, "OutOfResources")
        with self.assertRaises(ValueError):
            load().sequence(rewind_by="luck")
        counted = load().sequence(rewind_by="position")
        runs(counted, 3)
        counted.rewind(2)
        self.assertEqual((counted.position, counted.journal_nbytes), (1, 0))

    def test_a_sequence_outlives_its_method(self):
        method = load()
        sequence = method.sequence()
        method.close()
        del method
        gc.collect()
        self.assertEqual(runs(sequence, 1), [[2, 4, 6, 8]])

    def test_the_example_decodes_pytorchs_tokens_also_with_a_draft_and_the_same_bits_after_going_back(self):
        for options in ([], ["--draft", CHAT / "draft.pte"], ["--check"]):
            subprocess.run([sys.executable, CHAT / "decode.py", CHAT / "model.pte", XNNPACK, KERNELS, *options],
                           stdout=subprocess.PIPE, check=True)

    def test_two_conversations_of_the_chat_proceed_at_the_same_time(self):
        import chat  # pylint: disable=import-outside-toplevel

        model, order = chat.Model(CHAT / "model.pte", [XNNPACK, KERNELS]), []

        async def talk(number):
            text, turns = model.conversations.open(), [turn for turn in DIALOGUE if turn["conversation"] == number]
            for turn in turns:
                tokens = []
                async for token in chat.reply(model, text, turn["asked"]):
                    tokens.append(token)
                    order.append(number)
                self.assertEqual(tokens, turn["answer"])

        async def both():
            await asyncio.gather(talk(1), talk(2))

        asyncio.run(both())
        self.assertEqual(sorted(order), sorted(turn["conversation"] for turn in DIALOGUE for _ in turn["answer"]))
        changes = sum(one != other for one, other in zip(order, order[1:]))
        self.assertGreater(changes, len(order) // 8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])

# SPDX-License-Identifier: MIT
"""Decodes text with a model whose keys and values are in the program: decode.py MODEL.pte PLUGIN.so...

The prompt is run once. Answers are made of it by going back, and by branches; the state of the prompt is stored, and
taken up again. Plugins have the kernels of the program. `--check` compares bits, and prints times as JSON.
"""

import argparse
import json
import time

import numpy as np
import tenon

PROMPT = "The project "


def encode(text):
    """Numbers of the characters, as make_model.py has them."""
    return [0 if c == "\n" else ord(c) - 31 if " " <= c <= "~" else 1 for c in text]


def decode(numbers):
    """The text of the numbers."""
    return "".join("\n" if n == 0 else chr(n + 31) for n in numbers)


def step(sequence, number):
    """Runs one character; the logits of the next one."""
    place = np.array([sequence.position], np.int64)
    return np.asarray(sequence(np.array([number], np.int64), place))[0]


def sample(logits, random, temperature):
    """The number of the next character; without a source of random numbers the likeliest."""
    if random is None:
        return int(np.argmax(logits))
    weights = np.exp((logits - logits.max()) / temperature)
    return int(random.choice(len(weights), p=weights / weights.sum()))


def answer(sequence, logits, count, random=None, temperature=0.7):
    """Continues the text by `count` characters."""
    numbers = []
    for _ in range(count):
        numbers.append(sample(logits, random, temperature))
        logits = step(sequence, numbers[-1])
    return decode(numbers)


def run_prompt(sequence, text):
    """The logits after the text."""
    for number in encode(text):
        logits = step(sequence, number)
    return logits


def show(model, plugins):
    """A prompt and its answers."""
    method = tenon.load(model, plugins=plugins)["forward"]
    prompt = method.sequence(capacity=384)
    logits = run_prompt(prompt, PROMPT)
    stored = prompt.save()
    print(f"prompt: {PROMPT!r}, {prompt.position} places, a state of {prompt.nbytes} bytes")

    length = 60
    print(f"likeliest: {answer(prompt, logits, length)!r}")
    for seed in (1, 2):
        prompt.rewind(length)
        print(f"again, seed {seed}: {answer(prompt, logits, length, np.random.default_rng(seed))!r}")

    prompt.rewind(length)
    branch = prompt.fork()
    texts = [f"{name}{answer(of, run_prompt(of, name), length)}"
             for of, name in ((prompt, "is "), (branch, "has "))]
    print(f"branches: {texts}")

    other = tenon.load(model, plugins=plugins)["forward"].sequence()
    other.restore(stored)
    print(f"taken up: {answer(other, logits, length)!r}")


def least(times, act):
    """Milliseconds, the least of several."""
    found = []
    for _ in range(times):
        begin = time.perf_counter()
        act()
        found.append(time.perf_counter() - begin)
    return round(min(found) * 1e3, 4)


def check(model, plugins):
    """256 characters, back by 100, and again: equal bits. A fork. Times."""
    method = tenon.load(model, plugins=plugins)["forward"]
    sequence = method.sequence()
    text = encode((PROMPT * 30)[:256])
    first = [step(sequence, number).tobytes() for number in text]
    sequence.rewind(100)
    again = [step(sequence, number).tobytes() for number in text[156:]]
    assert again == first[156:], "after going back, other bits"
    branch = sequence.fork()
    branch.rewind(200)
    assert [step(branch, n).tobytes() for n in text[56:]] == first[56:], "a fork computes other bits"
    other = [step(branch, n) for n in encode("another text")]
    sequence.rewind(10)
    assert [step(sequence, n).tobytes() for n in text[246:]] == first[246:], "a fork disturbs"
    assert len(other) == 12
    stored = sequence.save()

    place, number = np.array([200], np.int64), np.array([5], np.int64)
    counted = tenon.load(model, plugins=plugins)["forward"].sequence(rewind_by="position")
    plain = tenon.load(model, plugins=plugins)["forward"]
    rewinds = []
    for _ in range(20):
        for n in text[156:]:
            step(sequence, n)
        begin = time.perf_counter()
        sequence.rewind(100)
        rewinds.append(time.perf_counter() - begin)
    print(json.dumps({
        "state_bytes": sequence.nbytes,
        "journal_bytes_of_a_run": sequence.journal_nbytes // sequence.position,
        "run_ms": least(50, lambda: plain(number, place)),
        "run_with_position_ms": least(50, lambda: counted(number, place)),
        "run_with_journal_ms": least(50, lambda: sequence(number, place)),
        "rewind_100_ms": round(min(rewinds) * 1e3, 4),
        "rewind_1_ms": least(50, lambda: sequence.rewind(1)),
        "fork_ms": least(20, sequence.fork),
        "save_ms": least(20, sequence.save),
        "restore_ms": least(20, lambda: sequence.restore(stored)),
    }))


def main():
    """Shows, or checks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("plugins", nargs="*")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    (check if arguments.check else show)(arguments.model, arguments.plugins)


main()

# SPDX-License-Identifier: MIT
"""Trains the model of `chat` on dialogues.txt, and a smaller one that guesses for it: make_model.py [OPTION]...

Writes tokenizer.json, model.pte, draft.pte, and expected.json: what PyTorch replies to lines.txt with the model, token by
token, and what the package `tokenizers` makes of some texts. Needs torch, executorch and tokenizers from PyPI, and five
minutes of a processor. `--backend` lowers for another backend than XNNPACK; `none` leaves all to ExecuTorch's kernels.
"""

import argparse
import itertools
import json
import pathlib
import random
import re
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from llama import Llama, export
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

HERE = pathlib.Path(__file__).resolve().parent
SEED = 0
PERSON, REPLY = "<|person|>", "<|reply|>"
PLACES = 256  # Tokens of a conversation.
MOST = 16  # Tokens of a run.
SIZES = {"model": {"layers": 4, "width": 96}, "draft": {"layers": 1, "width": 48}}

TEXTS = ["", " ", "Hello there.", "My name is Anna.", "  two  spaces ", "tab\tand\nline", "What?! No... yes!!", "äöü ß é",
         "Привет, мир", "こんにちは", "🙂 ok", "<|person|>", "don't, can't", "a\u00a0b\u3000c", "1234567890", "\u0000\u007f"]


def read(path: pathlib.Path) -> tuple[dict, list]:
    """The lists of words, by the names in their brackets, and the sections: exchanges of what may be said, the reply, and
    the reply when it is not known. A section is there as often as it is to be taken."""
    lists, sections = {}, []
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, rest = line[:1], line[2:]
        if mark == "[":
            names, words = line[1:].split("] ")
            lists.setdefault(tuple(names.split()), []).extend(tuple(word.split(":")) for word in words.split())
        elif mark == "#":
            section = []
            sections += [section] * line.count("#")
        elif mark == "<":
            section.append({"said": rest.split(" | "), "reply": rest, "unknown": None})
        elif mark in (">", "!") and sections:
            section[-1]["reply" if mark == ">" else "unknown"] = rest
    return lists, sections


def fill(text: str, known: dict) -> str:
    """The text with words for its braces, and a capital letter."""
    text = re.sub(r"{(\w+)}", lambda found: known[found[1]], text)
    return text[0].upper() + text[1:]


def dialogue(lists: dict, sections: list, source: random.Random) -> Iterator[tuple[str, str]]:
    """What a person says and the replies, without an end."""
    known = {}
    while True:
        exchange = source.choice(source.choice(sections))
        said = source.choice(exchange["said"])
        for names, words in lists.items():
            if any(f"{{{name}}}" in said for name in names):
                known.update(zip(names, source.choice(words)))
        knows = all(name in known for name in re.findall(r"{(\w+)}", exchange["reply"]))
        said, reply = fill(said, known), fill(exchange["reply"] if knows else exchange["unknown"], known)
        if source.random() < 0.2:
            said = said.lower().rstrip(".?!")
        yield said, reply


def make_tokenizer(texts: list[str]) -> Tokenizer:
    """Byte-level BPE. Pieces end before a space and around these marks, so that a reader needs no classes of Unicode."""
    tokenizer = Tokenizer(models.BPE())
    marks = [pre_tokenizers.Split(mark, "isolated") for mark in ".,:?!'"]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "merged_with_next"), *marks,
         pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=1024, special_tokens=[PERSON, REPLY], initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False))
    tokenizer.encode_special_tokens = True  # What a person types has none.
    return tokenizer


def turn(tokenizer: Tokenizer, said: str) -> list[int]:
    """The tokens that a reply follows. The reply ends where the model expects the person again."""
    person, reply = map(tokenizer.token_to_id, (PERSON, REPLY))
    return [person, *tokenizer.encode(said).ids, reply]


class Dialogues:
    """Dialogues that fill the places: tokens [rows, PLACES + 1], and which of them are of replies, or end one."""

    def __init__(self, tokenizer: Tokenizer, lists: dict, sections: list, seed: int) -> None:
        self.tokenizer, self.lists, self.sections = tokenizer, lists, sections
        self.source = random.Random(seed)

    def draw(self, rows: int) -> tuple[torch.Tensor, torch.Tensor]:
        tokens, learnt = [], []
        for _ in range(rows):
            row, mine = [], []
            turns = dialogue(self.lists, self.sections, self.source)
            while len(row) <= PLACES:
                said, reply = next(turns)
                asked, answer = turn(self.tokenizer, said), self.tokenizer.encode(reply).ids
                row += asked + answer
                mine += [bool(mine)] + [False] * (len(asked) - 1) + [True] * len(answer)
            tokens.append(row[:PLACES + 1])
            learnt.append(mine[:PLACES + 1])
        return torch.tensor(tokens), torch.tensor(learnt)


def train(model: Llama, dialogues: Dialogues, steps: int) -> None:
    """To predict each token of the replies."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=steps + 1, pct_start=0.1)
    place = torch.arange(PLACES).unsqueeze(0)
    for step in range(steps):
        tokens, learnt = dialogues.draw(4)
        logits = model(tokens[:, :-1], place.expand(len(tokens), -1), keeps=False)
        loss = F.cross_entropy(logits[learnt[:, 1:]], tokens[:, 1:][learnt[:, 1:]])
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            print(step, round(loss.item(), 4), flush=True)


def say(model: Llama, tokenizer: Tokenizer) -> list[dict]:
    """The lines of lines.txt, and the replies of eager PyTorch, which keeps nothing: each token is computed from all before it."""
    texts, end, turns, number = {}, tokenizer.token_to_id(PERSON), [], 1
    for line in (HERE / "lines.txt").read_text(encoding="utf-8").splitlines():
        named, said = re.fullmatch(r"(?:(\d): )?(.*)", line).groups()
        number = int(named or number)
        text = texts.setdefault(number, [])
        asked = turn(tokenizer, said)
        text += asked
        answer = []
        while len(text) < PLACES:
            with torch.no_grad():
                logits = model(torch.tensor([text]), torch.arange(len(text)).unsqueeze(0), keeps=False)[0, -1]
            if (token := int(logits.argmax())) == end:
                break
            text.append(token)
            answer.append(token)
        turns.append({"conversation": number, "said": said, "asked": asked, "answer": answer,
                      "reply": tokenizer.decode(answer)})
        print(f"{number}> {said}\n{number}: {turns[-1]['reply']}")
    return turns


def main() -> None:
    """Trains and exports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, default=HERE, help="the folder that is written to")
    parser.add_argument("--steps", type=int, default=2000, help="of the training")
    parser.add_argument("--weights", type=pathlib.Path, help="a folder: weights that are there are not trained again")
    parser.add_argument("--rows", type=int, default=1, help="texts that a run continues")
    parser.add_argument("--tokens", type=int, default=MOST, help="the most of a run")
    parser.add_argument("--backend", default="XnnpackBackend")
    parser.add_argument("--plugin", action="append", default=[], help="a file with the backend")
    given = parser.parse_args()

    torch.set_num_threads(1)  # The sums of several threads differ from machine to machine.
    lists, sections = read(HERE / "dialogues.txt")
    source = random.Random(SEED)
    said = [text for pair in itertools.islice(dialogue(lists, sections, source), 4000) for text in pair]
    tokenizer = make_tokenizer(said)
    tokenizer.save(str(given.output / "tokenizer.json"))
    for name, size in SIZES.items():
        torch.manual_seed(SEED)
        trained = Llama(tokenizer.get_vocab_size(), **size, places=PLACES)
        stored = given.weights and given.weights / f"{name}.pt"
        if stored and stored.exists():
            trained.load_state_dict(torch.load(stored))
        else:
            train(trained, Dialogues(tokenizer, lists, sections, SEED), given.steps)
            if stored:
                torch.save(trained.state_dict(), stored)
        if name == "model":
            turns = say(trained, tokenizer)
            texts = [{"text": text, "tokens": tokenizer.encode(text).ids} for text in TEXTS]
            lines = [",\n".join(map(json.dumps, each)) for each in (turns, texts)]
            (given.output / "expected.json").write_text(
                f'{{"dialogue": [\n{lines[0]}\n], "texts": [\n{lines[1]}\n]}}\n', encoding="utf-8")
        model = Llama(tokenizer.get_vocab_size(), **size, places=PLACES, rows=given.rows).eval()
        model.load_state_dict(trained.state_dict())
        program = export(model, given.tokens, given.backend, given.plugin)
        (given.output / f"{name}.pte").write_bytes(program)
        print(f"{name}.pte: {len(program):,} bytes")


main()

# SPDX-License-Identifier: MIT
"""Runs a case of a CUDA program with recorded launches: their results must equal replay_cuda.py --record's.

Each launch must be the recorded one: kernel, grid, shared memory, parameters, and every byte that the kernel read. Then
the bytes that it wrote are written, and the case compares outputs with eager PyTorch's. So the check of replay_cuda.py
is repeated wherever the tests run, without PyTorch and Triton.

The case then runs again with a recording that differs: in the grid, a parameter, or a byte that was read, in turn.
It must fail, and name the launch.
"""

import argparse
import copy
import json
import sys
from pathlib import Path
from typing import Any

import launch_server
from launch_server import Launch


class Difference(Exception):
    """A launch is not the recorded one."""


class Player:
    """Answers the launches of one process out of a recording."""

    def __init__(self, recorded: list[dict[str, Any]]) -> None:
        self.recorded = recorded
        self.num_launches = 0
        self.fault = ""

    def compute(self, launch: Launch) -> None:
        """Compares one launch, and writes its results."""
        self.num_launches += 1
        try:
            self.play(launch)
        except Difference as difference:
            # What follows differs as well.
            self.fault = self.fault or f"launch {self.num_launches}, {launch.kernel}: {difference}"
            raise

    def play(self, launch: Launch) -> None:
        """Compares one launch, and writes its results."""
        if self.num_launches > len(self.recorded):
            raise Difference(f"expected {len(self.recorded)} launches")
        recorded = self.recorded[self.num_launches - 1]
        for name, found in launch.facts().items():
            if found != recorded[name]:
                raise Difference(f"{name}: expected {recorded[name]}, found {found}")
        blocks = [launch.blocks[address] for address in launch.block_order()]
        for number, (block, reads) in enumerate(zip(blocks, recorded["reads"], strict=True)):
            for offset, text in reads:
                expected = bytes.fromhex(text)
                if block[offset:offset + len(expected)] != expected:
                    raise Difference(f"block {number}: other bytes than recorded in the {len(expected)} from {offset} on")
        for block, writes in zip(blocks, recorded["writes"], strict=True):
            for offset, text in writes:
                block[offset:offset + len(text) // 2] = bytes.fromhex(text)


def changed(recorded: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Recordings whose last launch differs, and what the difference must be called."""
    grid, parameter, memory = (copy.deepcopy(recorded) for _ in range(3))
    grid[-1]["grid"][0] += 1
    parameter[-1]["addresses"][0][3] += 16
    reads = next(each for each in memory[-1]["reads"] if each)
    reads[0][1] = f"{int(reads[0][1][:2], 16) ^ 1:02x}" + reads[0][1][2:]
    return [("grid: expected", grid), ("addresses: expected", parameter), ("other bytes than recorded", memory)]


def main() -> int:
    """Runs the case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stand-in", type=Path, required=True, help="folder of the stand-in's libcuda.so.1")
    parser.add_argument("--recording", type=Path, required=True)
    parser.add_argument("command", nargs="+", help="program that runs the case and exits with 0 for the expected outputs")
    options = parser.parse_args()
    recorded = json.loads(options.recording.read_text())
    player = Player(recorded)
    done = launch_server.run(options.command, options.stand_in, player.compute)
    if player.fault or done.returncode != 0 or player.num_launches != len(recorded):
        print(f"{player.fault or f'{player.num_launches} of {len(recorded)} recorded launches'}\n{done.stdout}{done.stderr}")
        return 1
    print(f"{player.num_launches} launches are the recorded ones\n{done.stdout}")
    for expected, recording in changed(recorded):
        player = Player(recording)
        done = launch_server.run(options.command, options.stand_in, player.compute)
        if done.returncode == 0 or f"launch {len(recorded)}," not in player.fault or expected not in player.fault:
            print(f"a recording that differs must be refused ({expected}), found: {player.fault}\n{done.stdout}")
            return 1
    print("recordings that differ are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())

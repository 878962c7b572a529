# SPDX-License-Identifier: MIT
"""The other side of tests/stand_ins/cuda/replayer.hpp: receives the launches of a process that uses the stand-in for
the CUDA driver, and sends back the memory that they computed. Needs nothing but Python."""

import json
import os
import socket
import struct
import subprocess
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass
class Launch:
    """One launch. `blocks` is the memory by its address on the device; who computes the launch writes there."""

    kernel: str
    grid: list[int]
    block: list[int]
    shared_bytes: int
    parameters: list[bytes]
    blocks: dict[int, bytearray]

    def find(self, address: int) -> tuple[int, int] | None:
        """The block of an address, and the offset in it."""
        for begin, memory in self.blocks.items():
            if begin <= address < begin + len(memory):
                return begin, address - begin
        return None

    def words(self) -> list[tuple[int, int, int]]:
        """The addresses in the parameters: number of the parameter, offset in it, and the address."""
        found = []
        for number, raw in enumerate(self.parameters):
            for at in range(0, len(raw) - 7, 8):
                address = struct.unpack_from("<Q", raw, at)[0]
                if self.find(address):
                    found.append((number, at, address))
        return found

    def facts(self) -> dict[str, Any]:
        """All but the memory, with addresses as numbers of blocks, in the order of the parameters, and offsets."""
        order = self.block_order()
        parameters = [raw.hex() for raw in self.parameters]
        places = []
        for number, at, address in self.words():
            begin, offset = self.find(address) or (0, 0)
            places.append([number, at, order.index(begin), offset])
            hidden = bytearray.fromhex(parameters[number])
            hidden[at:at + 8] = bytes(8)
            parameters[number] = hidden.hex()
        return {"kernel": self.kernel, "grid": self.grid, "block": self.block, "shared_bytes": self.shared_bytes,
                "parameters": parameters, "addresses": places}

    def block_order(self) -> list[int]:
        """Addresses of the blocks, in the order in which the parameters name them."""
        return list(dict.fromkeys((self.find(address) or (0, 0))[0] for _, _, address in self.words()))


# Computes one launch in place; raises when it cannot.
Compute = Callable[[Launch], None]


def receive(stream: Any) -> Launch | None:
    """The next launch; none when the other side has ended."""
    size = stream.read(4)
    if not size:
        return None
    text = json.loads(stream.read(struct.unpack("<I", size)[0]))
    blocks = {address: bytearray(stream.read(nbytes)) for address, nbytes in text["blocks"]}
    return Launch(text["kernel"], text["grid"], text["block"], text["shared_bytes"],
                  [bytes.fromhex(each) for each in text["parameters"]], blocks)


def serve(connection: socket.socket, compute: Compute) -> None:
    """Answers until the other side ends."""
    with connection, connection.makefile("rwb") as stream:
        while launch := receive(stream):
            reason = b""
            try:
                compute(launch)
            except Exception as error:  # What a kernel may raise is not known.
                reason = f"{type(error).__name__}: {error}".encode()
            stream.write(struct.pack("<I", len(reason)) + reason)
            if not reason:
                for memory in launch.blocks.values():
                    stream.write(memory)
            stream.flush()


def run(command: list[str], stand_in: Path, compute: Compute) -> subprocess.CompletedProcess[str]:
    """Runs a command with the stand-in in a folder as its driver, and computes its launches in a thread."""
    with tempfile.TemporaryDirectory(prefix="tenon-launches-") as name, socket.socket(socket.AF_UNIX) as listener:
        path = f"{name}/socket"
        listener.bind(path)
        listener.listen()

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:  # The listener was shut down.
                    return
                serve(connection, compute)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            return subprocess.run(
                command, env=os.environ | {"TENON_STAND_IN_CUDA_REPLAYER": path, "LD_LIBRARY_PATH": str(stand_in)},
                capture_output=True, text=True, check=False)
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()

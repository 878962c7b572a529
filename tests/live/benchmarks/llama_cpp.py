# SPDX-License-Identifier: MIT
"""The Llama of bench_llama.py in llama.cpp: its model as a GGUF file, and the time of a run.

The file has random weights, as the model has: a time does not depend on them. Needs the package gguf, and a build of
llama.cpp with the programs llama-bench and llama-batched-bench, in one folder.
"""

import json
from pathlib import Path

import numpy as np

from benchmarks import bench_aoti

# The bytes of a weight have its share of the scales: blocks of 32 have one of two bytes.
TYPES = {"llamacpp_float32": ("F32", 4.0), "llamacpp_bfloat16": ("BF16", 2.0),
         "llamacpp_q8_0": ("Q8_0", 34 / 32), "llamacpp_q4_0": ("Q4_0", 18 / 32)}
STEPS = 16  # Of generation in one measurement.


def write_model(name: str, file: Path, layers: int, width: int, head: int, words: int, places: int) -> None:
    import gguf

    quantization = gguf.GGMLQuantizationType[TYPES[name][0]]
    hidden = width * 11 // 4
    source = np.random.default_rng(1)
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(places)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(width // head)
    writer.add_head_count_kv(width // head)
    writer.add_rope_dimension_count(head)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(words)
    writer.add_tokenizer_model("no_vocab")

    def add(tensor: str, outputs: int, inputs: int) -> None:
        weights = source.standard_normal((outputs, inputs), dtype=np.float32) / np.float32(inputs**0.5)
        writer.add_tensor(f"{tensor}.weight", gguf.quants.quantize(weights, quantization), raw_dtype=quantization)

    def add_norm(tensor: str) -> None:
        writer.add_tensor(f"{tensor}.weight", np.ones(width, np.float32))

    add("token_embd", words, width)
    add_norm("output_norm")
    add("output", words, width)
    for layer in range(layers):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        add_norm(f"{block}.ffn_norm")
        for tensor in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"{block}.{tensor}", width, width)
        add(f"{block}.ffn_gate", hidden, width)
        add(f"{block}.ffn_up", hidden, width)
        add(f"{block}.ffn_down", width, hidden)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def time_of(programs: Path, file: Path, batch: int, tokens: int, threads: int, seconds: float) -> float:
    """The fewest nanoseconds of a run of `tokens` places of `batch` sequences."""
    common = ["-m", str(file), "-t", str(threads), "-ngl", "0"]
    if batch > 1:
        # It measures once, after a run to warm up, STEPS tokens of each sequence after a prompt of `tokens` places.
        command = [str(programs / "llama-batched-bench"), *common, "-c", "4096", "-npp", str(tokens),
                   "-ntg", str(STEPS), "-npl", str(batch), "--output-format", "jsonl"]
        lines = [json.loads(line) for line in bench_aoti.pinned(command, threads).splitlines() if line.startswith("{")]
        return float(lines[-1]["t_tg"] / STEPS if tokens == 1 else lines[-1]["t_pp"]) * 1e9
    count = STEPS if tokens == 1 else 1
    what = ["-p", "0", "-n", str(STEPS)] if tokens == 1 else ["-p", str(tokens), "-n", "0"]

    def samples(number: int) -> list[float]:
        command = [str(programs / "llama-bench"), *common, *what, "-r", str(number), "-o", "json"]
        return [sample / count for sample in json.loads(bench_aoti.pinned(command, threads))[0]["samples_ns"]]

    once = samples(1)[0] * count
    return min(samples(max(2, round(seconds * 1e9 / once))))

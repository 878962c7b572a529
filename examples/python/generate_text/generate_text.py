# SPDX-License-Identifier: MIT
"""`generate()` of Hugging Face's transformers, with a model whose forward pass a plugin computes.

    python generate_text.py [--backend GraphBackend] [--plugin FILE] [--tokens 16] [--model FOLDER]

Without --model it takes a small Llama with random weights: nothing is downloaded. Needs tenon, torch and transformers.
"""

import argparse

import tenon.dynamo
import torch
import transformers

PROMPT = [[1, 5, 9, 42, 7, 3]]


def make_model():
    torch.manual_seed(0)
    return transformers.LlamaForCausalLM(transformers.LlamaConfig(
        vocab_size=128, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, max_position_embeddings=256, pad_token_id=0, bos_token_id=1, eos_token_id=2)).eval()


def generate(model, prompt, count):
    """The most likely tokens. The cache has one size from the beginning, so that two graphs are compiled: the prompt's,
    and a token's."""
    with torch.no_grad():
        return model.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=count, min_new_tokens=count,
                              do_sample=False, cache_implementation="static", disable_compile=True)[0].tolist()


def compile_forward(model, backend, plugins=()):
    """The model, whose forward pass is compiled. Its weights do not change any more."""
    options = {"backend": backend, "plugins": list(plugins), "freeze": True}
    model.forward = torch.compile(model.forward, backend=tenon.dynamo.tenon, options=options, dynamic=False)
    return model


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="GraphBackend")
    parser.add_argument("--plugin", action="append", default=[], help="a plugin file to look in first")
    parser.add_argument("--tokens", type=int, default=16)
    parser.add_argument("--model", help="a folder or name for transformers' from_pretrained, with its tokenizer")
    parser.add_argument("--prompt", default="The sea is", help="for --model")
    given = parser.parse_args()
    prompt, tokenizer = torch.tensor(PROMPT), None
    if given.model:
        tokenizer = transformers.AutoTokenizer.from_pretrained(given.model)
        model = transformers.AutoModelForCausalLM.from_pretrained(given.model, dtype=torch.float32).eval()
        prompt = tokenizer(given.prompt, return_tensors="pt").input_ids
    else:
        model = make_model()
    expected = generate(model, prompt, given.tokens)
    found = generate(compile_forward(model, given.backend, given.plugin), prompt, given.tokens)
    print(tokenizer.decode(found) if tokenizer else found)
    print(f"{given.backend}: {'the tokens of eager PyTorch' if found == expected else f'eager PyTorch has {expected}'}")
    return found != expected


if __name__ == "__main__":
    raise SystemExit(main())

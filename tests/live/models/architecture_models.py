# SPDX-License-Identifier: MIT
"""Architectures of torchvision, timm, transformers and diffusers for architectures.py, as small as their configurations
permit, with random weights under a fixed seed. The depth and the widths are smaller than in published models; the
operators are theirs. A package is imported when a model of it is made, so that a missing package concerns its own
models only.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from models.cases import Case, Inputs, ids
from models.vision import settle_norms

WORDS = 500
SIZES = {"hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4}
DECODER = SIZES | {"vocab_size": WORDS, "num_key_value_heads": 2, "max_position_embeddings": 64}


class Tensors(nn.Module):
    """A model whose forward takes tensors by position and returns tensors only, as programs do."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], outputs: tuple[str, ...], **fixed: Any) -> None:
        super().__init__()
        self.model, self.names, self.outputs, self.fixed = model, names, outputs, fixed

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        result = self.model(**dict(zip(self.names, inputs, strict=True)), **self.fixed)
        return tuple(result[name] for name in self.outputs)


def of_transformers(name: str, config: dict[str, Any], names: tuple[str, ...] = ("input_ids",),
                    outputs: tuple[str, ...] = ("logits",), configured_by: str = "", **fixed: Any) -> nn.Module:
    """The class `name` of transformers with a configuration of the same family."""
    import transformers

    configuration = getattr(transformers, configured_by or name.partition("For")[0].removesuffix("Model") + "Config")
    model = getattr(transformers, name)(configuration(**config))
    return Tensors(model.eval(), names, outputs, return_dict=True, **fixed)


def language_model(name: str, config: dict[str, Any]) -> nn.Module:
    """A decoder without a cache: logits of each token."""
    return of_transformers(name, config, use_cache=False)


def vision_model(name: str, config: dict[str, Any], output: str = "logits", **fixed: Any) -> nn.Module:
    return of_transformers(name, config, ("pixel_values",), (output,), **fixed)


def clip() -> nn.Module:
    import transformers

    text = transformers.CLIPTextConfig(**SIZES, vocab_size=WORDS, max_position_embeddings=16, bos_token_id=1,
                                       eos_token_id=WORDS - 1, pad_token_id=0)
    vision = transformers.CLIPVisionConfig(**SIZES, image_size=64, patch_size=16)
    config = transformers.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict(), projection_dim=32)
    return Tensors(transformers.CLIPModel(config).eval(), ("input_ids", "pixel_values"), ("logits_per_image",))


def sam() -> nn.Module:
    """Segment Anything: an image and a point, three masks."""
    import transformers

    vision = transformers.SamVisionConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, image_size=128,
                                          patch_size=16, window_size=4, global_attn_indexes=[1], output_channels=32,
                                          num_pos_feats=16, mlp_dim=64)
    prompt = transformers.SamPromptEncoderConfig(hidden_size=32, image_size=128, patch_size=16)
    mask = transformers.SamMaskDecoderConfig(hidden_size=32, mlp_dim=64, num_attention_heads=2, iou_head_hidden_dim=32)
    config = transformers.SamConfig(vision_config=vision.to_dict(), prompt_encoder_config=prompt.to_dict(),
                                    mask_decoder_config=mask.to_dict())
    return Tensors(transformers.SamModel(config).eval(), ("pixel_values", "input_points"), ("pred_masks", "iou_scores"))


class StaticCacheLlama(nn.Module):
    """A Llama that keeps its keys and values in buffers of a fixed size, one token a run: transformers' StaticCache."""

    def __init__(self) -> None:
        super().__init__()
        import transformers
        from transformers.integrations.executorch import TorchExportableModuleWithStaticCache

        config = transformers.LlamaConfig(**DECODER)
        model = transformers.LlamaForCausalLM(config).eval()
        model.generation_config = transformers.GenerationConfig(
            use_cache=True, cache_implementation="static", max_length=16,
            cache_config={"batch_size": 1, "max_cache_len": 16})
        self.wrapped = TorchExportableModuleWithStaticCache(model)

    def forward(self, token: Tensor, place: Tensor) -> Tensor:
        # torch.export replaces buffers of modules, not the same tensors in the layers of the cache, which it
        # would take for constants.
        for number, layer in enumerate(self.wrapped.static_cache.layers):
            layer.keys = self.wrapped.get_buffer(f"key_cache_{number}")
            layer.values = self.wrapped.get_buffer(f"value_cache_{number}")
            layer.cumulative_length = self.wrapped.get_buffer(f"cumulative_length_{number}")
        return self.wrapped(input_ids=token, cache_position=place)


class Wav2Letter(nn.Module):
    """The speech model of Collobert, Puhrsch and Synnaeve: eleven convolutions, at an eighth of its width."""

    def __init__(self, features: int = 13, letters: int = 20) -> None:
        super().__init__()
        convolutions = [nn.Conv1d(features, 32, 48, 2, 23), *(nn.Conv1d(32, 32, 7, 1, 3) for _ in range(7)),
                        nn.Conv1d(32, 256, 32, 1, 16), nn.Conv1d(256, 256, 1), nn.Conv1d(256, letters, 1)]
        self.layers = nn.Sequential(*(part for one in convolutions for part in (one, nn.ReLU())))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x).log_softmax(1)


class Recurrent(nn.Module):
    """An LSTM or GRU of two layers with its last state."""

    def __init__(self, kind: type[nn.Module]) -> None:
        super().__init__()
        self.layers = kind(24, 48, num_layers=2, batch_first=True)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        values, state = self.layers(x)
        return values, state[0] if isinstance(state, tuple) else state


class Dlrm(nn.Module):
    """Facebook's recommendation model: bags of sparse features, dense features, and the products of all pairs."""

    def __init__(self, width: int = 16, tables: int = 4) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(300, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(13, 32), nn.ReLU(), nn.Linear(32, width), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 32), nn.ReLU(), nn.Linear(32, 1), nn.Sigmoid())
        self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))

    def forward(self, dense: Tensor, *sparse: Tensor) -> Tensor:
        bottom = self.bottom(dense)
        rows = torch.stack([bottom, *(bag(one) for bag, one in zip(self.bags, sparse, strict=True))], 1)
        products = torch.bmm(rows, rows.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
        return self.top(torch.cat([bottom, products], 1))


def diffusion_unet() -> nn.Module:
    """The conditional UNet of Stable Diffusion."""
    from diffusers import UNet2DConditionModel

    model = UNet2DConditionModel(
        sample_size=16, block_out_channels=(32, 64), layers_per_block=1, cross_attention_dim=32, attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"), up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"))
    return Tensors(model.eval(), ("sample", "timestep", "encoder_hidden_states"), ("sample",))


class Only(nn.Module):
    """One named tensor of a model that returns several."""

    def __init__(self, model: nn.Module, output: str) -> None:
        super().__init__()
        self.model, self.output = model, output

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x)[self.output]


def of_torchvision(name: str, output: str = "", **options: Any) -> nn.Module:
    import torchvision.models as zoo

    model = zoo.get_model(name, weights=None, **options)
    settle_norms(model)
    return Only(model, output) if output else model


def of_timm(name: str) -> nn.Module:
    import timm

    model = timm.create_model(name, pretrained=False, num_classes=10)
    settle_norms(model)
    return model


def quantised(name: str, **options: Any) -> nn.Module:
    """A perceptron whose weights torchao has quantised."""
    import torchao.quantization as ao

    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.Linear(512, 128)).eval()
    ao.quantize_(model, getattr(ao, name)(**options))
    return model


class PackedLinear(nn.Module):
    """A product with weights of four bits in the layout of PyTorch's own kernel for the CPU, in groups of 32."""

    def __init__(self, inputs: int = 256, outputs: int = 128, group: int = 32) -> None:
        super().__init__()
        self.group = group
        codes = torch.randint(0, 16, (outputs, inputs), dtype=torch.int32)
        self.register_buffer("weight", torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes, 1))
        scales = torch.stack([0.01 + 0.01 * torch.rand(inputs // group, outputs),
                              0.02 * torch.randn(inputs // group, outputs)], 2)
        self.register_buffer("scales", scales.to(torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.aten._weight_int4pack_mm_for_cpu(x, self.weight, self.group, self.scales)


def narrow_gpt2() -> nn.Module:
    sizes = {"vocab_size": WORDS, "n_positions": 64, "n_embd": 64, "n_layer": 2, "n_head": 4}
    sizes |= {"bos_token_id": 1, "eos_token_id": 2}
    return of_transformers("GPT2LMHeadModel", sizes, configured_by="GPT2Config", use_cache=False).to(torch.bfloat16)


def twice(make: Callable[[], Inputs]) -> Callable[[], list[Inputs]]:
    return lambda: [make() for _ in range(2)]


def floats(*shape: int) -> Callable[[], list[Inputs]]:
    return twice(lambda: (torch.randn(shape),))


def tokens(length: int = 20) -> Callable[[], list[Inputs]]:
    return twice(lambda: (ids(WORDS, 1, length),))


MOE = DECODER | {"head_dim": 16, "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 48}
LANGUAGE = {
    "llama": ("LlamaForCausalLM", DECODER),
    "qwen3": ("Qwen3ForCausalLM", DECODER | {"head_dim": 16}),
    "gemma2": ("Gemma2ForCausalLM", DECODER | {"head_dim": 16, "sliding_window": 8}),
    "qwen3_moe": ("Qwen3MoeForCausalLM", MOE | {"experts_implementation": "batched_mm"}),
    "mamba": ("MambaForCausalLM", {"vocab_size": WORDS, "hidden_size": 64, "num_hidden_layers": 2, "state_size": 8}),
    # Its first run divides the weights of each block by a power of two, which is 1 for the first six; torch.export
    # permits no write to weights.
    "rwkv": ("RwkvForCausalLM", {"vocab_size": WORDS, "hidden_size": 64, "num_hidden_layers": 2, "context_length": 64,
                                 "bos_token_id": 0, "eos_token_id": 0, "rescale_every": 0}),
}
T5 = {"vocab_size": WORDS, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 2, "num_heads": 4}
DISTILBERT = {"vocab_size": WORDS, "dim": 64, "hidden_dim": 128, "n_layers": 2, "n_heads": 4}
WHISPER = {"vocab_size": WORDS, "num_mel_bins": 16, "d_model": 64, "encoder_layers": 2, "decoder_layers": 2,
           "encoder_attention_heads": 4, "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
           "max_source_positions": 50, "max_target_positions": 32, "pad_token_id": 0, "bos_token_id": 1,
           "eos_token_id": 2, "decoder_start_token_id": 1}
WAV2VEC2 = SIZES | {"vocab_size": 32, "conv_dim": (32, 32, 32), "conv_stride": (5, 4, 2), "conv_kernel": (10, 8, 4),
                    "num_feat_extract_layers": 3, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4}
SWIN = {"image_size": 64, "patch_size": 4, "embed_dim": 24, "depths": [2, 2], "num_heads": [2, 4], "window_size": 4}

MODELS: dict[str, Case] = {
    **{name: Case(partial(language_model, *about), tokens()) for name, about in LANGUAGE.items()},
    "llama_static_cache": Case(StaticCacheLlama, lambda: [
        (ids(WORDS, 1, 1), torch.tensor([place])) for place in range(4)], stateful=True),
    # Of other dtypes, transformers multiplies groups by an operator of its own when it compiles.
    "qwen3_moe_bfloat16": Case(lambda: language_model("Qwen3MoeForCausalLM", MOE | {
        "experts_implementation": "grouped_mm"}).to(torch.bfloat16), tokens(), rtol=1.6e-2, atol=1e-2),
    "gpt2_bfloat16": Case(narrow_gpt2, tokens(), rtol=1.6e-2, atol=1e-2),
    "t5": Case(partial(of_transformers, "T5ForConditionalGeneration", T5, ("input_ids", "decoder_input_ids"),
                       use_cache=False), twice(lambda: (ids(WORDS, 1, 20), ids(WORDS, 1, 8)))),
    "whisper": Case(partial(of_transformers, "WhisperForConditionalGeneration", WHISPER,
                            ("input_features", "decoder_input_ids"), use_cache=False),
                    twice(lambda: (torch.randn(1, 16, 100), ids(WORDS, 1, 8)))),
    "distilbert": Case(
        partial(of_transformers, "DistilBertForSequenceClassification", DISTILBERT, ("input_ids", "attention_mask")),
        twice(lambda: (ids(WORDS, 2, 20), (torch.arange(20)[None] < torch.tensor([20, 11])[:, None]).long()))),
    "vit": Case(partial(vision_model, "ViTForImageClassification", SIZES | {"image_size": 64}), floats(1, 3, 64, 64)),
    "swin": Case(partial(vision_model, "SwinForImageClassification", SWIN), floats(1, 3, 64, 64)),
    "clip": Case(clip, twice(lambda: (ids(WORDS - 1, 2, 16), torch.randn(1, 3, 64, 64)))),
    "sam": Case(sam, twice(lambda: (torch.randn(1, 3, 128, 128), 128 * torch.rand(1, 1, 1, 2)))),
    "wav2vec2": Case(partial(of_transformers, "Wav2Vec2ForCTC", WAV2VEC2, ("input_values",)), floats(1, 4000)),
    "efficientnet_b0": Case(partial(of_torchvision, "efficientnet_b0", num_classes=10), floats(1, 3, 64, 64)),
    "shufflenet_v2": Case(partial(of_torchvision, "shufflenet_v2_x0_5", num_classes=10), floats(1, 3, 64, 64)),
    "densenet121": Case(partial(of_torchvision, "densenet121", num_classes=10), floats(1, 3, 64, 64)),
    "convnext_tiny": Case(partial(of_torchvision, "convnext_tiny", num_classes=10), floats(1, 3, 64, 64)),
    "deeplabv3": Case(partial(of_torchvision, "deeplabv3_mobilenet_v3_large", "out", weights_backbone=None,
                              num_classes=5), floats(1, 3, 64, 64)),
    "inception_v3": Case(partial(of_torchvision, "inception_v3", num_classes=10, init_weights=False),
                         floats(1, 3, 128, 128)),
    "mobilevit": Case(partial(of_timm, "mobilevit_xxs"), floats(1, 3, 64, 64)),
    "regnet": Case(partial(of_timm, "regnetx_002"), floats(1, 3, 64, 64)),
    "ghostnet": Case(partial(of_timm, "ghostnet_050"), floats(1, 3, 64, 64)),
    "conformer": Case(partial(of_transformers, "Wav2Vec2ConformerForCTC", WAV2VEC2, ("input_values",)),
                      floats(1, 4000)),
    "wav2letter": Case(Wav2Letter, floats(1, 13, 200)),
    "gru": Case(partial(Recurrent, nn.GRU), floats(2, 10, 24)),
    "lstm": Case(partial(Recurrent, nn.LSTM), floats(2, 10, 24)),
    "dlrm": Case(Dlrm, twice(lambda: (torch.randn(8, 13), *(torch.randint(0, 300, (8, 5)) for _ in range(4))))),
    "diffusion_unet": Case(diffusion_unet, twice(lambda: (
        torch.randn(1, 4, 16, 16), torch.randint(0, 1000, (1,)), torch.randn(1, 8, 32)))),
    "linear_int8": Case(partial(quantised, "Int8WeightOnlyConfig"), floats(4, 256)),
    "linear_int8_dynamic": Case(partial(quantised, "Int8DynamicActivationInt8WeightConfig"), floats(4, 256)),
    "linear_int4": Case(partial(quantised, "IntxWeightOnlyConfig", weight_dtype=torch.int4), floats(4, 256)),
    "linear_int4_packed": Case(PackedLinear, twice(lambda: (torch.randn(4, 256).to(torch.bfloat16),)), rtol=1.6e-2,
                               atol=1e-2),
}

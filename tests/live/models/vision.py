# SPDX-License-Identifier: MIT
"""Vision architectures at full depth, in plain torch: no torchvision, nothing to download."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.layers import TransformerBlock


def settle_norms(module: nn.Module) -> None:
    """Gives batch norms the statistics of a trained model, so that they are not the identity."""
    for norm in module.modules():
        if isinstance(norm, nn.BatchNorm2d):
            nn.init.uniform_(norm.running_mean, -0.2, 0.2)
            nn.init.uniform_(norm.running_var, 0.5, 1.5)
            nn.init.uniform_(norm.weight, 0.5, 1.0)
            nn.init.uniform_(norm.bias, -0.2, 0.2)


class ResidualBlock(nn.Module):
    """Two 3x3 convolutions and a shortcut, which is projected where the shape changes."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.shortcut = nn.Identity()
        if stride != 1 or inputs != outputs:
            projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
            self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.shortcut(x))


class ResNet18(nn.Module):
    """ResNet-18 for 224x224 images and 1000 classes: 11.7 million weights."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )
        widths = [64, 64, 128, 256, 512]
        stages: list[nn.Module] = []
        for stage, (inputs, outputs) in enumerate(zip(widths, widths[1:])):
            stages.append(ResidualBlock(inputs, outputs, 1 if stage == 0 else 2))
            stages.append(ResidualBlock(outputs, outputs, 1))
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(512, 1000)
        settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.stages(self.stem(x)), 1)
        return self.head(x.flatten(1))


class SqueezeExcite(nn.Module):
    """Scales channels by what a small network makes of their means."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.down = nn.Conv2d(channels, squeezed, 1)
        self.up = nn.Conv2d(squeezed, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * F.hardsigmoid(self.up(F.relu(self.down(self.pool(x)))))


class InvertedResidual(nn.Module):
    """Expand, depthwise convolution, optional squeeze-excite, project."""

    def __init__(self, inputs: int, kernel: int, expanded: int, outputs: int, excite: bool,
                 hardswish: bool, stride: int) -> None:
        super().__init__()
        activation = nn.Hardswish if hardswish else nn.ReLU
        parts: list[nn.Module] = []
        if expanded != inputs:
            parts += [nn.Conv2d(inputs, expanded, 1, bias=False), nn.BatchNorm2d(expanded, 1e-3),
                      activation()]
        parts += [
            nn.Conv2d(expanded, expanded, kernel, stride, kernel // 2, groups=expanded,
                      bias=False),
            nn.BatchNorm2d(expanded, 1e-3),
            activation(),
        ]
        if excite:
            parts.append(SqueezeExcite(expanded, max(8, (expanded // 4 + 4) // 8 * 8)))
        parts += [nn.Conv2d(expanded, outputs, 1, bias=False), nn.BatchNorm2d(outputs, 1e-3)]
        self.body = nn.Sequential(*parts)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(x)
        return x + y if self.residual else y


class MobileNetV3Small(nn.Module):
    """MobileNetV3-Small for 224x224 images and 1000 classes."""

    # input channels, kernel, expanded, output channels, squeeze-excite, hardswish, stride
    LAYOUT = [
        (16, 3, 16, 16, True, False, 2),
        (16, 3, 72, 24, False, False, 2),
        (24, 3, 88, 24, False, False, 1),
        (24, 5, 96, 40, True, True, 2),
        (40, 5, 240, 40, True, True, 1),
        (40, 5, 240, 40, True, True, 1),
        (40, 5, 120, 48, True, True, 1),
        (48, 5, 144, 48, True, True, 1),
        (48, 5, 288, 96, True, True, 2),
        (96, 5, 576, 96, True, True, 1),
        (96, 5, 576, 96, True, True, 1),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False),
                                  nn.BatchNorm2d(16, 1e-3), nn.Hardswish())
        self.blocks = nn.Sequential(*(InvertedResidual(*row) for row in self.LAYOUT))
        self.last = nn.Sequential(nn.Conv2d(96, 576, 1, bias=False),
                                  nn.BatchNorm2d(576, 1e-3), nn.Hardswish())
        self.head = nn.Sequential(nn.Linear(576, 1024), nn.Hardswish(), nn.Dropout(0.2),
                                  nn.Linear(1024, 1000))
        settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        x = self.last(self.blocks(self.stem(x)))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


class VisionTransformer(nn.Module):
    """ViT-Tiny with 16x16 patches, a class token and learnt positions."""

    def __init__(self, width: int = 192, depth: int = 8, heads: int = 3) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.randn(1, 1, width) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.blocks = nn.ModuleList(TransformerBlock(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, 1000)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.shape[0], -1, -1), x], 1) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)[:, 0])


def double_conv(inputs: int, outputs: int) -> nn.Sequential:
    """The unit of a U-Net: two 3x3 convolutions with batch norm and relu."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    """A U-Net of four levels: transposed convolutions upwards, skips by concatenation."""

    def __init__(self, width: int = 16, levels: int = 4, classes: int = 3) -> None:
        super().__init__()
        widths = [width << level for level in range(levels + 1)]
        self.down = nn.ModuleList(double_conv(a, b) for a, b in zip([3, *widths], widths))
        self.up = nn.ModuleList(nn.ConvTranspose2d(2 * w, w, 2, 2) for w in widths[:-1])
        self.merge = nn.ModuleList(double_conv(2 * w, w) for w in widths[:-1])
        self.head = nn.Conv2d(width, classes, 1)
        settle_norms(self)

    def forward(self, x: Tensor) -> Tensor:
        skips: list[Tensor] = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for level in reversed(range(len(self.up))):
            x = self.merge[level](torch.cat([skips[level], self.up[level](x)], 1))
        return self.head(x)


class ChannelsLastCnn(nn.Module):
    """A small network whose input arrives, and whose feature map leaves, channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 2, 1)
        self.norm = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, 1, 1, groups=2)
        self.conv3 = nn.Conv2d(32, 8, 1)
        settle_norms(self)
        self.to(memory_format=torch.channels_last)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = F.relu(self.norm(self.conv1(x)))
        x = self.conv3(F.silu(self.conv2(x)))
        return x, x.mean((2, 3))


class Pooling(nn.Module):
    """Every common way to pool or to resize an image."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return (
            F.adaptive_avg_pool2d(x, (5, 3)),
            F.adaptive_max_pool2d(x, (4, 4)),
            F.max_pool2d(x, 3, 2, 1, ceil_mode=True),
            F.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
            F.interpolate(x, scale_factor=2.0, mode="nearest"),
            F.interpolate(x, size=(20, 27), mode="bilinear", align_corners=False),
            F.interpolate(x, size=(9, 31), mode="bilinear", align_corners=True),
        )

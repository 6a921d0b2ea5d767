"""Networks whose penultimate activations can be computed, and how their weights want images.

The table repeats what torchvision publishes, because planning must not import torch. A test
compares them.
"""

import difflib
from dataclasses import dataclass, replace

from wtrak.errors import WtrakError

TIMM = "timm:"  # before the name of a network of timm
UNTRAINED = "untrained"
# torchvision's classifiers whose last layer is a convolution.
WITHOUT_LINEAR = ("squeezenet1_0", "squeezenet1_1")
INTERPOLATIONS = ("bilinear", "bicubic")
# The channel statistics that most weights were trained with.
IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
# Smallest side in pixels, where a network cannot take 32.
_SMALLEST = {"alexnet": 63, "inception_v3": 75}
# Networks that take images of one size alone begin so.
_ONE_SIZE = ("maxvit_", "vit_")
_ADDRESS = "https://download.pytorch.org/models/"
_SWAG_NOTICE = "SWAG weights by Meta, under CC BY-NC 4.0: not for commercial use."

# Architecture, weights (after IMAGENET1K_), file (before .pth), size in MiB, resize, crop,
# interpolation, mean and std. The first weights of an architecture set the preprocessing for
# weights of other origin. GoogLeNet and Inception rescale their input from ImageNet's statistics to
# one half in their first step; here the preprocessing does it.
_PUBLISHED = """
alexnet            V1             alexnet-owt-7be5be79                233 256 224 bilinear imagenet
convnext_base      V1             convnext_base-6075fbad              338 232 224 bilinear imagenet
convnext_large     V1             convnext_large-ea097f82             755 232 224 bilinear imagenet
convnext_small     V1             convnext_small-0c510722             192 230 224 bilinear imagenet
convnext_tiny      V1             convnext_tiny-983f1562              109 236 224 bilinear imagenet
densenet121        V1             densenet121-a639ec97                 31 256 224 bilinear imagenet
densenet161        V1             densenet161-8d451a50                110 256 224 bilinear imagenet
densenet169        V1             densenet169-b2777c0a                 55 256 224 bilinear imagenet
densenet201        V1             densenet201-c1103571                 77 256 224 bilinear imagenet
efficientnet_b0    V1             efficientnet_b0_rwightman-7f5810bc   20 256 224 bicubic  imagenet
efficientnet_b1    V1             efficientnet_b1_rwightman-bac287d4   30 256 240 bicubic  imagenet
efficientnet_b1    V2             efficientnet_b1-c27df63c             30 255 240 bilinear imagenet
efficientnet_b2    V1             efficientnet_b2_rwightman-c35c1473   35 288 288 bicubic  imagenet
efficientnet_b3    V1             efficientnet_b3_rwightman-b3899882   47 320 300 bicubic  imagenet
efficientnet_b4    V1             efficientnet_b4_rwightman-23ab8bcd   74 384 380 bicubic  imagenet
efficientnet_b5    V1             efficientnet_b5_lukemelas-1a07897c  117 456 456 bicubic  imagenet
efficientnet_b6    V1             efficientnet_b6_lukemelas-24a108a5  165 528 528 bicubic  imagenet
efficientnet_b7    V1             efficientnet_b7_lukemelas-c5b4e57e  255 600 600 bicubic  imagenet
efficientnet_v2_l  V1             efficientnet_v2_l-59c71312          455 480 480 bicubic  half
efficientnet_v2_m  V1             efficientnet_v2_m-dc08266a          208 480 480 bilinear imagenet
efficientnet_v2_s  V1             efficientnet_v2_s-dd5fe13b           83 384 384 bilinear imagenet
googlenet          V1             googlenet-1378be20                   50 256 224 bilinear half
inception_v3       V1             inception_v3_google-0cc3c7bd        104 342 299 bilinear half
maxvit_t           V1             maxvit_t-bc5ab103                   119 224 224 bicubic  imagenet
mnasnet0_5         V1             mnasnet0.5_top1_67.823-3ffadce67e     9 256 224 bilinear imagenet
mnasnet0_75        V1             mnasnet0_75-7090bc5f                 12 232 224 bilinear imagenet
mnasnet1_0         V1             mnasnet1.0_top1_73.512-f206786ef8    17 256 224 bilinear imagenet
mnasnet1_3         V1             mnasnet1_3-a4c69d6f                  24 232 224 bilinear imagenet
mobilenet_v2       V1             mobilenet_v2-b0353104                14 256 224 bilinear imagenet
mobilenet_v2       V2             mobilenet_v2-7ebf99e0                14 232 224 bilinear imagenet
mobilenet_v3_large V1             mobilenet_v3_large-8738ca79          21 256 224 bilinear imagenet
mobilenet_v3_large V2             mobilenet_v3_large-5c1a4163          21 232 224 bilinear imagenet
mobilenet_v3_small V1             mobilenet_v3_small-047dcff4          10 256 224 bilinear imagenet
regnet_x_16gf      V1             regnet_x_16gf-2007eb11              208 256 224 bilinear imagenet
regnet_x_16gf      V2             regnet_x_16gf-ba3796d7              208 232 224 bilinear imagenet
regnet_x_1_6gf     V1             regnet_x_1_6gf-e3633e7f              35 256 224 bilinear imagenet
regnet_x_1_6gf     V2             regnet_x_1_6gf-a12f2b72              35 232 224 bilinear imagenet
regnet_x_32gf      V1             regnet_x_32gf-9d47f8d0              412 256 224 bilinear imagenet
regnet_x_32gf      V2             regnet_x_32gf-6eb8fdc6              412 232 224 bilinear imagenet
regnet_x_3_2gf     V1             regnet_x_3_2gf-f342aeae              59 256 224 bilinear imagenet
regnet_x_3_2gf     V2             regnet_x_3_2gf-7071aa85              59 232 224 bilinear imagenet
regnet_x_400mf     V1             regnet_x_400mf-adf1edd5              21 256 224 bilinear imagenet
regnet_x_400mf     V2             regnet_x_400mf-62229a5f              21 232 224 bilinear imagenet
regnet_x_800mf     V1             regnet_x_800mf-ad17e45c              28 256 224 bilinear imagenet
regnet_x_800mf     V2             regnet_x_800mf-94a99ebd              28 232 224 bilinear imagenet
regnet_x_8gf       V1             regnet_x_8gf-03ceed89               151 256 224 bilinear imagenet
regnet_x_8gf       V2             regnet_x_8gf-2b70d774               151 232 224 bilinear imagenet
regnet_y_128gf     SWAG_LINEAR_V1 regnet_y_128gf_lc_swag-cbe8ce12    2462 224 224 bicubic  imagenet
regnet_y_128gf     SWAG_E2E_V1    regnet_y_128gf_swag-c8ce3e52       2462 384 384 bicubic  imagenet
regnet_y_16gf      V1             regnet_y_16gf-9e6ed7dd              319 256 224 bilinear imagenet
regnet_y_16gf      V2             regnet_y_16gf-3e4a00f9              319 232 224 bilinear imagenet
regnet_y_16gf      SWAG_LINEAR_V1 regnet_y_16gf_lc_swag-f3ec0043      319 224 224 bicubic  imagenet
regnet_y_16gf      SWAG_E2E_V1    regnet_y_16gf_swag-43afe44d         319 384 384 bicubic  imagenet
regnet_y_1_6gf     V1             regnet_y_1_6gf-b11a554e              43 256 224 bilinear imagenet
regnet_y_1_6gf     V2             regnet_y_1_6gf-0d7bc02a              43 232 224 bilinear imagenet
regnet_y_32gf      V1             regnet_y_32gf-4dee3f7a              554 256 224 bilinear imagenet
regnet_y_32gf      V2             regnet_y_32gf-8db6d4b5              554 232 224 bilinear imagenet
regnet_y_32gf      SWAG_LINEAR_V1 regnet_y_32gf_lc_swag-e1583746      554 224 224 bicubic  imagenet
regnet_y_32gf      SWAG_E2E_V1    regnet_y_32gf_swag-04fdfa75         554 384 384 bicubic  imagenet
regnet_y_3_2gf     V1             regnet_y_3_2gf-b5a9779c              75 256 224 bilinear imagenet
regnet_y_3_2gf     V2             regnet_y_3_2gf-9180c971              75 232 224 bilinear imagenet
regnet_y_400mf     V1             regnet_y_400mf-c65dace8              17 256 224 bilinear imagenet
regnet_y_400mf     V2             regnet_y_400mf-e6988f5f              17 232 224 bilinear imagenet
regnet_y_800mf     V1             regnet_y_800mf-1b27b58c              25 256 224 bilinear imagenet
regnet_y_800mf     V2             regnet_y_800mf-58fc7688              25 232 224 bilinear imagenet
regnet_y_8gf       V1             regnet_y_8gf-d0d0e4a8               151 256 224 bilinear imagenet
regnet_y_8gf       V2             regnet_y_8gf-dc2b1b54               151 232 224 bilinear imagenet
resnet101          V1             resnet101-63fe2227                  171 256 224 bilinear imagenet
resnet101          V2             resnet101-cd907fc2                  171 232 224 bilinear imagenet
resnet152          V1             resnet152-394f9c45                  230 256 224 bilinear imagenet
resnet152          V2             resnet152-f82ba261                  230 232 224 bilinear imagenet
resnet18           V1             resnet18-f37072fd                    45 256 224 bilinear imagenet
resnet34           V1             resnet34-b627a593                    83 256 224 bilinear imagenet
resnet50           V1             resnet50-0676ba61                    98 256 224 bilinear imagenet
resnet50           V2             resnet50-11ad3fa6                    98 232 224 bilinear imagenet
resnext101_32x8d   V1             resnext101_32x8d-8ba56ff5           340 256 224 bilinear imagenet
resnext101_32x8d   V2             resnext101_32x8d-110c445d           340 232 224 bilinear imagenet
resnext101_64x4d   V1             resnext101_64x4d-173b62eb           319 232 224 bilinear imagenet
resnext50_32x4d    V1             resnext50_32x4d-7cdf4587             96 256 224 bilinear imagenet
resnext50_32x4d    V2             resnext50_32x4d-1a0047aa             96 232 224 bilinear imagenet
shufflenet_v2_x0_5 V1             shufflenetv2_x0.5-f707e7126e          5 256 224 bilinear imagenet
shufflenet_v2_x1_0 V1             shufflenetv2_x1-5666bf0f80            9 256 224 bilinear imagenet
shufflenet_v2_x1_5 V1             shufflenetv2_x1_5-3c479a10           14 232 224 bilinear imagenet
shufflenet_v2_x2_0 V1             shufflenetv2_x2_0-8be3c8ee           28 232 224 bilinear imagenet
swin_b             V1             swin_b-68c6b09e                     335 238 224 bicubic  imagenet
swin_s             V1             swin_s-5e29d889                     190 246 224 bicubic  imagenet
swin_t             V1             swin_t-704ceda3                     108 232 224 bicubic  imagenet
swin_v2_b          V1             swin_v2_b-781e5279                  336 272 256 bicubic  imagenet
swin_v2_s          V1             swin_v2_s-637d8ceb                  191 260 256 bicubic  imagenet
swin_v2_t          V1             swin_v2_t-b137f0e2                  109 260 256 bicubic  imagenet
vgg11              V1             vgg11-8a719046                      507 256 224 bilinear imagenet
vgg11_bn           V1             vgg11_bn-6002323d                   507 256 224 bilinear imagenet
vgg13              V1             vgg13-19584684                      508 256 224 bilinear imagenet
vgg13_bn           V1             vgg13_bn-abd245e5                   508 256 224 bilinear imagenet
vgg16              V1             vgg16-397923af                      528 256 224 bilinear imagenet
vgg16_bn           V1             vgg16_bn-6c64b313                   528 256 224 bilinear imagenet
vgg19              V1             vgg19-dcbb9e9d                      548 256 224 bilinear imagenet
vgg19_bn           V1             vgg19_bn-c79401a0                   548 256 224 bilinear imagenet
vit_b_16           V1             vit_b_16-c867db91                   330 256 224 bilinear imagenet
vit_b_16           SWAG_LINEAR_V1 vit_b_16_lc_swag-4e70ced5           330 224 224 bicubic  imagenet
vit_b_16           SWAG_E2E_V1    vit_b_16_swag-9ac1b537              331 384 384 bicubic  imagenet
vit_b_32           V1             vit_b_32-d86f8d99                   337 256 224 bilinear imagenet
vit_h_14           SWAG_LINEAR_V1 vit_h_14_lc_swag-c1eb923e          2411 224 224 bicubic  imagenet
vit_h_14           SWAG_E2E_V1    vit_h_14_swag-80465313             2417 518 518 bicubic  imagenet
vit_l_16           V1             vit_l_16-852ce7e3                  1161 242 224 bilinear imagenet
vit_l_16           SWAG_LINEAR_V1 vit_l_16_lc_swag-4d563306          1161 224 224 bicubic  imagenet
vit_l_16           SWAG_E2E_V1    vit_l_16_swag-4f3808c9             1164 512 512 bicubic  imagenet
vit_l_32           V1             vit_l_32-c7638314                  1169 256 224 bilinear imagenet
wide_resnet101_2   V1             wide_resnet101_2-32ee1156           243 256 224 bilinear imagenet
wide_resnet101_2   V2             wide_resnet101_2-d733dc28           485 232 224 bilinear imagenet
wide_resnet50_2    V1             wide_resnet50_2-95faca4d            132 256 224 bilinear imagenet
wide_resnet50_2    V2             wide_resnet50_2-9ba9bcbe            263 232 224 bilinear imagenet
"""


@dataclass(frozen=True)
class Preprocessing:
    """How an image becomes the input of a network.

    Attributes
    ----------
    resize : int or None
        Length in pixels to which the shorter side is scaled, before the middle is cut out. None
        scales the whole image to the input size, without regard to its proportions.
    crop : int
        Side of the input in pixels, at most `resize`.
    interpolation : str
        One of `INTERPOLATIONS`; antialiased.
    mean, std : sequence of 3 floats
        Of the channels of training images whose values are from 0 to 1.

    Raises
    ------
    WtrakError
        If a value is impossible.
    """

    resize: int | None
    crop: int
    interpolation: str = "bilinear"
    mean: tuple = IMAGENET_MEAN
    std: tuple = IMAGENET_STD

    def __post_init__(self):
        if self.resize is not None and self.crop > self.resize:
            raise WtrakError(f"crop is {self.crop}, more than resize, {self.resize}")
        if self.interpolation not in INTERPOLATIONS:
            known = " or ".join(INTERPOLATIONS)
            raise WtrakError(f"interpolation is {self.interpolation!r}; known is {known}")
        if len(self.mean) != 3 or len(self.std) != 3 or min(self.std) <= 0:
            raise WtrakError("mean and std must be 3 numbers each, those of std above 0")

    def at(self, image_size):
        """The preprocessing for an experiment's `image_size`: a side in pixels, or published."""
        if image_size == "published":
            return self
        return replace(self, resize=None, crop=int(image_size))


@dataclass(frozen=True)
class Published:
    """Weights that torchvision publishes.

    Attributes
    ----------
    file : str
    megabytes : int
    preprocessing : Preprocessing
    """

    file: str
    megabytes: int
    preprocessing: Preprocessing


def _parsed(table):
    out = {}
    for line in table.strip().splitlines():
        name, weights, file, megabytes, resize, crop, interpolation, statistics = line.split()
        mean, std = (IMAGENET_MEAN, IMAGENET_STD) if statistics == "imagenet" else ((0.5,) * 3,) * 2
        preprocessing = Preprocessing(int(resize), int(crop), interpolation, mean, std)
        published = Published(f"{file}.pth", int(megabytes), preprocessing)
        out.setdefault(name, {})[f"IMAGENET1K_{weights}"] = published
    return out


# By the name of the architecture in torchvision: its published weights by their names.
ARCHITECTURES = _parsed(_PUBLISHED)


def architecture_problem(architecture):
    """What is wrong with the name of an architecture, or None if it is one of torchvision or timm.

    Whether timm has a network of that name is known to `networks.network` alone.
    """
    if architecture in ARCHITECTURES or architecture.removeprefix(TIMM) not in ("", architecture):
        return None
    if architecture in WITHOUT_LINEAR:
        return f"the last layer of {architecture} is a convolution; a linear one is needed"
    # Members of a family come first: "vgg" is close to no name but begins several.
    close = [name for name in ARCHITECTURES if architecture and name.startswith(architecture)]
    close = (close or difflib.get_close_matches(architecture, ARCHITECTURES))[:4]
    known = ", ".join(close or ["resnet18", "convnext_tiny", "vit_b_16"])
    return f"{architecture!r} is no classifier of torchvision; such are {known}, and timm:NAME"


def published_weights(architecture, weights):
    """The `Published` of these weights; None for weights of other origin."""
    return ARCHITECTURES.get(architecture, {}).get(weights)


def megabytes_of(architecture):
    """Size in MB of the largest weights that are published for an architecture; 0 for others."""
    known = ARCHITECTURES.get(architecture, {}).values()
    return max((published.megabytes for published in known), default=0)


def published_source(architecture, weights):
    """The source to fetch published weights from, in the form of ``data.sources``."""
    file = published_weights(architecture, weights).file
    source = {
        "kind": "https",
        "url": _ADDRESS + file,
        # The name of the file ends with the first digits of its hash.
        "sha256": file.removesuffix(".pth").rpartition("-")[2],
        "description": f"torchvision {architecture} {weights}",
    }
    return source | ({"notice": _SWAG_NOTICE} if "SWAG" in weights else {})


def published_preprocessing(architecture, weights):
    """The preprocessing that torchvision publishes, as `Preprocessing`.

    Weights of other origin get that of the architecture's first published weights.
    """
    known = ARCHITECTURES[architecture]
    return known.get(weights, next(iter(known.values()))).preprocessing


def size_problem(architecture, preprocessing, image_size):
    """What is wrong with the size of images for a network of torchvision, or None.

    Parameters
    ----------
    architecture : str
    preprocessing : Preprocessing
        Of the backbone.
    image_size : int or "published"
    """
    side = preprocessing.at(image_size).crop
    smallest = _SMALLEST.get(architecture, 0)
    if side < smallest:
        return f"{architecture} takes images of {smallest} px or more, not {side}"
    if architecture.startswith(_ONE_SIZE) and side != preprocessing.crop:
        return (
            f"{architecture} takes images of {preprocessing.crop} px alone, the crop of its "
            f"preprocessing, not {side}; write {preprocessing.crop} or published"
        )
    return None

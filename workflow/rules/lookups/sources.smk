# Memory for data of one's own, and for weights.

from wtrak.geometry.catalogue import megabytes_of


def images_megabytes(name):
    """Memory in MB to read images: those that are decoded, Python, and 2 kB for each file."""
    return 1300 + plan.n_images(name) // 500


def weights_megabytes(name):
    """Size of a backbone's weights in MB, as torchvision publishes it; 0 for networks of timm."""
    return megabytes_of(config["backbones"][name]["architecture"])

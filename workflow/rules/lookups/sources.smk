# Memory for data of one's own, and for weights.

from wtrak.geometry.catalogue import megabytes_of


def folder_megabytes(name):
    """Memory in MB to read a folder of images: two copies of all of them while they are written."""
    side = config["datasets"][name]["side"]
    return 1000 + len(plan.folder_listing(name)) * 2 * 3 * side**2 // 10**6


def weights_megabytes(name):
    """Size of a backbone's weights in MB, as torchvision publishes it; 0 for networks of timm."""
    return megabytes_of(config["backbones"][name]["architecture"])

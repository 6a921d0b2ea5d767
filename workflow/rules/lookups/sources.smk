# Memory for data of one's own, and where weights come from.

from wtrak.geometry.catalogue import megabytes_of, published_source, published_weights


def folder_megabytes(name):
    """Memory in MB to read a folder: images that are decoded, Python, and 2 kB for each file."""
    return 1300 + len(plan.files_to_read(name)) // 500


def weights_sources(name):
    """Sources of a backbone's weights, in the order in which to try them."""
    block = config["backbones"][name]
    if published_weights(block["architecture"], block["weights"]):
        return [published_source(block["architecture"], block["weights"])]
    return config["data"]["sources"].get(block["weights"], [])


def weights_megabytes(name):
    """Size of a backbone's weights in MB, as torchvision publishes it; 0 for networks of timm."""
    return megabytes_of(config["backbones"][name]["architecture"])

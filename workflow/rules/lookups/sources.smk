# Images and memory for data of one's own.


def n_images(name):
    """Number of files of a folder or list of images."""
    tables = sum(len(outline.files) for outline in plan.outlines(name).values())
    return len(plan.own_listing(name)) - tables


def images_megabytes(name):
    """Memory in MB to read images: two copies of all of them while they are written."""
    side = config["datasets"][name]["side"]
    return 1000 + n_images(name) * 2 * 3 * side**2 // 10**6

# Memory for data of one's own.


def folder_megabytes(name):
    """Memory in MB to read a folder of images: two copies of all of them while they are written."""
    side = config["datasets"][name]["side"]
    return 1000 + len(plan.folder_listing(name)) * 2 * 3 * side**2 // 10**6

# Memory for data of one's own.


def folder_megabytes(name):
    """Memory in MB to read a folder: images that are decoded, Python, and 2 kB for each file."""
    return 1300 + len(plan.files_to_read(name)) // 500

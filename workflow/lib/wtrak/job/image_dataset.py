"""Write a dataset of a user's images, with what is said of it, whatever kind of data they were."""

import itertools

import numpy as np
import pandas as pd

from wtrak.job.io import save_arrays, write_csv, write_json
from wtrak.job.runtime import say
from wtrak.job.shown import packed_columns
from wtrak.sources.datasets import content_sha256
from wtrak.sources.image_files import rare_classes


def rooms_in(folder):
    """A function from a shape and a type to an array that is kept in a file of its own in a folder.

    Images are written to files at once, because all of them may not fit into memory.
    """
    numbers = itertools.count()

    def room(shape, kind):
        return np.memmap(folder / str(next(numbers)), kind, "w+", shape=shape)

    return room


def save_image_dataset(output, arrays, shown, skipped, quality, *, name, source, classes, levels):
    """Write and log a dataset of images that were read.

    Parameters
    ----------
    output : object
        Paths as attributes: ``arrays``, ``record``, ``skipped`` and ``quality``.
    arrays : dict of str to numpy.ndarray
        ``train_images``, ``train_labels``, ``test_images`` and ``test_labels``.
    shown : dict of str to list of str
        Columns that lists show beside the training images, such as ``path``.
    skipped : list of dict
        ``split``, ``path`` and ``reason`` of every file that is not used.
    quality : pandas.DataFrame
        Columns split, path, `image_quality.MEASURES` and picture of all images; training images
        come first.
    name : str
        Of the dataset.
    source : str
        Where the images come from, in words.
    classes : list of str
    levels : dict of str to Levels
        Black and white of each kind of values that are not bytes (see `image_levels`).
    """
    skipped = pd.DataFrame(skipped, columns=["split", "path", "reason"])
    for entry in skipped.itertuples():
        say(f"skipped in {entry.split}: {entry.path} ({entry.reason})")
    counts = np.bincount(arrays["train_labels"], minlength=len(classes)).tolist()
    per_class = dict(zip(classes, counts, strict=True))
    say(f"{sum(counts):,} training images: {per_class}; {len(skipped)} files skipped")
    for rare in rare_classes(per_class):
        say(f"the class {rare} has 1 image; 2 or more are needed to judge its label")
    for kind, one in levels.items():
        say(f"{kind}: black is {one.black:g} and white {one.white:g} in all images")
    say(f"odd images: {quality['picture'].replace('', np.nan).value_counts().to_dict()}")
    record = {
        "dataset": name,
        "source": source,
        "content_sha256": content_sha256(arrays),
        "classes": classes,
        "images_per_class": per_class,
        "rare_classes": rare_classes(per_class),
        "skipped": len(skipped),
    }
    pictures = quality.loc[quality["split"] == "train", "picture"].tolist()
    columns = shown | {"picture": pictures}
    save_arrays(output.arrays, arrays | packed_columns(columns), record | {"shown": list(columns)})
    write_json(output.record, record)
    write_csv(output.skipped, skipped)
    write_csv(output.quality, quality)

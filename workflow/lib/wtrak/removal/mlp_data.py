"""Load images as inputs of perceptrons."""

import numpy as np
import torch

from wtrak.job.io import load_arrays


def load_examples(dataset, split, device, count=None):
    """Pixels from 0 to 1, shape (N, H·W·channels), float32, and labels, int64, on `device`.

    Parameters
    ----------
    dataset : path
        Output of the rule dataset.
    split : {"train", "test"}
    count : int, optional
        Number of examples to load, from the first; by default all.
    """
    arrays = load_arrays(dataset, [f"{split}_images", f"{split}_labels"])
    images, labels = (arrays[f"{split}_{what}"][:count] for what in ("images", "labels"))
    x = torch.from_numpy(images.reshape(len(images), -1)).to(device, torch.float32).div_(255)
    return x, torch.from_numpy(labels.astype(np.int64)).to(device)

"""Lookups in a configuration: experiments to run, their settings, and the files they share."""

import hashlib
from pathlib import Path

from wtrak.geometry.catalogue import published_source, published_weights
from wtrak.sources.image_files import find_images
from wtrak_plan import own_data

# Keys of a dataset that hold paths on this machine.
LOCAL = ("path", "test_path", "corrections")
# Separates the name of an experiment from the name of its variation.
VARIED = "__"


def stable(value):
    """A copy of the value with sorted keys at every level, for ``params``.

    Snakemake compares parameters as text, but the order of keys in merged files varies.
    """
    if isinstance(value, dict):
        return {key: stable(value[key]) for key in sorted(value)}
    return [stable(item) for item in value] if isinstance(value, list) else value


class Plan:
    """Lookups in a validated configuration.

    Methods that take `wildcards` are input functions of rules. A `pattern` is a path with
    ``{experiment}`` in it.

    Parameters
    ----------
    config : dict
        The merged configuration of Snakemake, after `configuration.name_own_data`.
    """

    def __init__(self, config):
        self.config = config
        self._listings, self._outlines = {}, {}

    # --- which experiments run ---

    def _chosen(self, section, names):
        """The `names` that the list in `section` contains; all of them if it is "all"."""
        return [name for name in names if section == "all" or name in section]

    def chosen_experiments(self):
        """Names of the experiments to run, in the order of the configuration."""
        return self._chosen(self.config["run"]["experiments"], self.config["experiments"])

    def experiments(self):
        """Names of the experiments to run that have test points, which certificates need."""
        blocks = {name: self.config["experiments"][name] for name in self.chosen_experiments()}
        return [
            name
            for name, block in blocks.items()
            if block["dataset"] not in self.own_datasets() or self.has_test(block["dataset"])
        ]

    def with_images(self, names):
        """Those of the names of experiments whose datasets are images."""
        experiments, features = self.config["experiments"], self.own_datasets("features")
        return [name for name in names if experiments[name]["dataset"] not in features]

    def noisy(self, noise):
        """Names of the experiments to run for a setting of label_noise."""
        chosen = self.config["label_noise"]["settings"][noise]["experiments"]
        return self._chosen(chosen, self.experiments())

    def removal_experiments(self):
        """Names of the experiments to run for the removal of training points."""
        return self._chosen(self.config["removal"]["experiments"], self.experiments())

    def tasks(self):
        """Names of the tasks for convex models to run, in the order of the configuration."""
        return self._chosen(self.config["wrif"]["run"], self.config["wrif"]["tasks"])

    def variations(self, experiment):
        """Names of the variations to compute of an experiment, in the order of the configuration.

        Features of one's own have no size of an image that could vary.
        """
        variations = self.config["assumptions"]["variations"]
        names = self._chosen(self.config["assumptions"]["run"], variations)
        if self.with_images([experiment]):
            return names
        return [name for name in names if "image_size" not in variations[name]]

    def fits(self):
        """Experiments of ``label_noise.fits``, as dicts of name, head and n_train.

        If the configuration already has an experiment with the same settings, its name is used.
        The list is empty if the experiment that they vary does not run.
        """
        experiment = self.config["label_noise"]["fits"]["experiment"]
        out = []
        if experiment not in self.experiments():
            return out
        for head in self.config["label_noise"]["fits"]["heads"]:
            for n_train in self.config["label_noise"]["fits"]["n_train"]:
                name = f"{experiment}{VARIED}{head}_{n_train}"
                wanted = self.experiment_block(name)
                same = [
                    other for other in self.experiments() if self.experiment_block(other) == wanted
                ]
                out.append({"name": same[0] if same else name, "head": head, "n_train": n_train})
        return out

    # --- settings of one experiment ---

    def experiment_block(self, name):
        """Settings of an experiment, or of a variation of one, without its label.

        Variations are those of the assumptions, as in ``cifar10__size_32``, and another head at
        another size, as in ``cifar10__adam_5000``.
        """
        name, _, variation = name.partition(VARIED)
        known = self.config["assumptions"]["variations"]
        # Without it, a new label repeats no computation.
        whole = self.config["experiments"][name]
        block = {key: value for key, value in whole.items() if key != "label"}
        if variation and variation not in known:
            head, _, n_train = variation.rpartition("_")
            return block | {"head": head, "n_train": int(n_train)}
        return block | known.get(variation, {})

    def setting(self, wildcards, key):
        """A key of the experiment that the wildcards name."""
        return self.experiment_block(wildcards.experiment)[key]

    def noise_block(self, name):
        """How a setting of label_noise makes labels wrong: its kind, and its rate or labels."""
        block = self.config["label_noise"]["settings"][name]
        return {key: block[key] for key in ("kind", "rate", "labels") if key in block}

    # --- labels in figures and tables ---

    def label_of(self, name):
        """Label of an experiment in figures and tables; its name if it has none."""
        block = self.config["experiments"][name]
        n_train = block["n_train"]
        shown = n_train if n_train == "all" else f"{n_train:,}"
        return block.get("label", name).replace("{n_train}", shown)

    def labels(self, names):
        """Label of each of these experiments, by name in alphabetical order (see `stable`)."""
        return {name: self.label_of(name) for name in sorted(names)}

    def noise_label(self, name):
        """Label of a setting of label_noise in figures and tables; its name if it has none."""
        block = self.config["label_noise"]["settings"][name]
        return block.get("label", name)

    def noise_labels(self):
        """Label of every setting of label_noise that an experiment to run has, by name."""
        settings = self.config["label_noise"]["settings"]
        return {name: self.noise_label(name) for name in sorted(settings) if self.noisy(name)}

    # --- datasets ---

    def own_datasets(self, *kinds):
        """Names of the datasets that are data of one's own, of one of these kinds or of any."""
        return [
            name
            for name, block in self.config["datasets"].items()
            if "kind" in block and (not kinds or block["kind"] in kinds)
        ]

    def chosen_own_images(self):
        """Names of the folders and lists of images that experiments to run use."""
        names = self.chosen_experiments()
        used = {self.config["experiments"][name]["dataset"] for name in names}
        return [name for name in self.own_datasets(*own_data.IMAGES) if name in used]

    def outlines(self, name):
        """`wtrak.sources.user_data.Outline` of data of one's own, by ``path`` and ``test_path``."""
        if name not in self._outlines:
            self._outlines[name] = own_data.outlines_of(self.config["datasets"][name])
        return self._outlines[name]

    def has_test(self, name):
        """Whether data of one's own have test points."""
        outlines = self.outlines(name)
        return "test_path" in outlines or outlines["path"].has_split

    def own_rows(self):
        """Upper limits for the training and test rows of lists and features, by dataset."""
        out = {}
        for name in self.own_datasets("image_list", "features"):
            outlines = self.outlines(name)
            most = outlines["path"].most_rows
            split = most if outlines["path"].has_split else 0
            test = outlines["test_path"].most_rows if "test_path" in outlines else split
            out[name] = (most, test)
        return out

    def folder_listing(self, name):
        """Classes and files of a folder of images, by the key of its path.

        It is what the job that reads the folder finds, with the size and the time of each file.

        Returns
        -------
        dict of str to (list of str, list of ImageFile)
            Output of `image_files.find_images` for ``path`` and, if there is one, ``test_path``.

        Raises
        ------
        WtrakError
            If a folder cannot be opened, or has no sub-folders with names in UTF-8.
        """
        if name not in self._listings:
            block = self.config["datasets"][name]
            self._listings[name] = {
                key: find_images(block[key]) for key in ("path", "test_path") if key in block
            }
        return self._listings[name]

    def own_listing(self, name):
        """All that is watched of data of one's own: names, sizes and times of their files.

        For a folder of images it is the output of `folder_listing`; else that of
        `own_data.listing`.
        """
        block = self.config["datasets"][name]
        if block["kind"] == "image_folder":
            return self.folder_listing(name)
        if name not in self._listings:
            self._listings[name] = own_data.listing(block)
        return self._listings[name]

    def n_images(self, name):
        """Number of files of a folder or list of images that may be images, training and test."""
        if self.config["datasets"][name]["kind"] == "image_folder":
            listing = self.folder_listing(name)
            return sum(not file.reason for _, files in listing.values() for file in files)
        tables = sum(len(outline.files) for outline in self.outlines(name).values())
        return len(self.own_listing(name)) - tables

    def content_of(self, wildcards):
        """Hash of the content of the dataset that the wildcards name, directly or not.

        For data of one's own it is the hash of the listing, because no job has read them yet.
        """
        name = getattr(wildcards, "dataset", None) or self.setting(wildcards, "dataset")
        if name in self.own_datasets():
            return hashlib.sha256(repr(self.own_listing(name)).encode()).hexdigest()
        return self.config["datasets"][name]["content_sha256"]

    def corrected_datasets(self):
        """Names of the datasets whose labels a user has corrected."""
        return [name for name, block in self.config["datasets"].items() if "corrections" in block]

    def corrections_content(self, name):
        """Hash of the file of corrections of a dataset."""
        path = Path(self.config["datasets"][name]["corrections"])
        return hashlib.sha256(path.read_bytes()).hexdigest()

    def corrections_of(self, wildcards):
        """Path of the corrected labels of an experiment's dataset, in a list; empty without any."""
        name = self.setting(wildcards, "dataset")
        known = name in self.corrected_datasets()
        return [f"results/corrections/{name}.safetensors"] if known else []

    def datasets_of_task(self, name):
        """Name of the image dataset of a task, in a list; an empty list if it uses a table."""
        data = self.config["wrif"]["tasks"][name]["data"]
        return [data] if data in self.config["datasets"] else []

    # --- files that experiments share ---

    def of_experiments(self, pattern):
        """The paths of a pattern for every experiment of `experiments`."""
        return [pattern.format(experiment=name) for name in self.experiments()]

    def dataset_file(self, name):
        """Path of the file of a dataset."""
        return f"results/datasets/{name}.safetensors"

    def dataset_of(self, wildcards):
        """Path of the dataset that the wildcards name, directly or through an experiment."""
        name = getattr(wildcards, "dataset", None) or self.setting(wildcards, "dataset")
        return self.dataset_file(name)

    def activations_of(self, wildcards):
        """Path of an experiment's activations.

        Experiments with the same dataset, backbone and image size share them. Features of one's
        own take the place of activations, whatever the backbone.
        """
        block = self.experiment_block(wildcards.experiment)
        if block["dataset"] in self.own_datasets("features"):
            return f"results/activations/{block['dataset']}/features.safetensors"
        name = f"{block['dataset']}/{block['backbone']}/{block['image_size']}"
        return f"results/activations/{name}.safetensors"

    def copies_cosine(self, wildcards):
        """Smallest cosine of two copies of an experiment; "exact" if copies are equal."""
        block = self.config["datasets"][self.setting(wildcards, "dataset")]
        features = block.get("kind") == "features"
        return block["copies"] if features else self.config["copies"]["cosine"]

    def people_of(self, wildcards):
        """Path of the human labels of an experiment's dataset, in a list; empty without any."""
        known = self.setting(wildcards, "dataset") == self.config["human_labels"]["dataset"]
        return ["results/human_labels.safetensors"] if known else []

    def weights_sources(self, name):
        """Sources of a backbone's weights, in the order in which to try them."""
        block = self.config["backbones"][name]
        if published_weights(block["architecture"], block["weights"]):
            return [published_source(block["architecture"], block["weights"])]
        return self.config["data"]["sources"].get(block["weights"], [])

    # --- provenance ---

    def records(self, names=None):
        """Provenance records of the datasets and backbones of experiments.

        These are the experiments in `names`, or all to run.
        """
        names = names or self.experiments()
        blocks = self.config["experiments"]
        return sorted(
            {f"results/datasets/{blocks[name]['dataset']}.json" for name in names}
            | {f"results/backbones/{blocks[n]['backbone']}.json" for n in self.with_images(names)}
        )

    def records_of(self, wildcards):
        """Provenance records of the dataset and backbone of one experiment."""
        return self.records([wildcards.experiment])

    def all_records(self):
        """Provenance records of every dataset and backbone that is used."""
        further = set()
        if self.experiments():
            further = {name for task in self.tasks() for name in self.datasets_of_task(task)}
            further |= {*self.config["ood"]["datasets"], self.config["retraining"]["dataset"]}
        named = {f"results/datasets/{name}.json" for name in further}
        return sorted({*self.records(self.chosen_experiments()), *named})

    def published_config(self):
        """The configuration without paths on this machine and experiments that do not run."""
        published = dict(self.config)
        published["experiments"] = {
            name: self.config["experiments"][name] for name in self.chosen_experiments()
        }
        published["data"] = {"sources": self.config["data"]["sources"]}
        published["datasets"] = {
            name: {key: value for key, value in block.items() if key not in LOCAL}
            for name, block in self.config["datasets"].items()
        }
        return stable(published)

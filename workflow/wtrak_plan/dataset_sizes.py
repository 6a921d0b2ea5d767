"""Find numbers in the configuration for which a dataset is too small, before any data are read.

The format of a dataset's source fixes its size, because the decoders accept no other. For a folder
of images only an upper limit is known: its number of files; for a list or for features, the number
of rows. So a number that is refused here is refused whatever the data turn out to hold.
"""

from dataclasses import dataclass

from wtrak.errors import WtrakError
from wtrak.sources import catalogue
from wtrak.sources.image_files import check_classes, check_test_classes
from wtrak_plan.early_checks import list_of

# Names of the sets that the figure of foreign inputs always has.
FOREIGN = ("test", "blurred", "inverted", "noise")


@dataclass(frozen=True)
class Images:
    """Numbers of images and classes of a dataset, and the size of an image in pixels.

    For data of one's own the numbers are upper limits, and what is counted are files of a folder,
    or rows of a list or of features, whose number of classes and size are 0.
    """

    train: int
    test: int
    classes: int
    height: int
    width: int
    counted: str = "images"

    def words(self, split):
        """The number of images of a split in words, as in "1,437 training images"."""
        kind = {"train": "training", "test": "test"}[split]
        return f"{getattr(self, split):,} {kind} {self.counted}"

    @property
    def is_own(self):
        """Whether it is data of one's own, of which only upper limits are known."""
        return self.counted != "images"


FORMATS = {
    name: Images(row.train, row.test, len(row.classes), row.height, row.width)
    for name, row in catalogue.FORMATS.items()
}
# Images of each class, training and test together, by the first digits of the content's hash.
IN_CLASSES = {
    "d1fcd87420a92da9": [6_000] * 10,
    "678783cd3780d3e0": [6903, 7877, 6990, 7141, 6824, 6313, 6876, 7293, 6825, 6958],
    "cc55477c5ebb6dc9": [178, 182, 177, 183, 181, 182, 181, 179, 174, 180],
    "2a8f3c04cd9c1ee6": [212, 357],
}
# Number of examples of each table that scikit-learn ships, and the models that suit its target: two
# classes, three classes, or a number. Ridge regression also accepts the number of a class.
TABLES = {
    "breast_cancer": (569, ("logistic", "multinomial", "ridge")),
    "wine": (178, ("multinomial", "ridge")),
    "diabetes": (442, ("ridge",)),
}


def folder_counts(listing):
    """Count the files of each class of a folder of images, by split.

    Parameters
    ----------
    listing : dict of str to (list of str, list of ImageFile)
        Output of `Plan.folder_listing`.

    Returns
    -------
    dict of str to dict of str to int
    """
    out = {"train": {}, "test": {}}
    for key, (classes, files) in listing.items():
        counts = dict.fromkeys(classes, 0)
        for file in files:
            if not file.reason:
                counts[file.label] += 1
        out["test" if key == "test_path" else "train"] = counts
    return out


def folder_problems(config, names, listing):
    """Yield a sentence for each folder of images in which the job that reads it would end.

    Files may turn out to be no images, so that the job may still find less than is needed.
    """
    for name in names:
        block = config["datasets"][name]
        if block.get("kind") != "image_folder":
            continue
        try:
            found = listing(name)
            classes, files = found["path"]
            check_classes(block["path"], classes, files)
            if "test_path" in found:
                check_test_classes(block["test_path"], *found["test_path"], classes)
        except WtrakError as error:
            yield str(error)


def images_of(config, name, listing, own_rows):
    """`Images` of a dataset; None if the format of its source is not one of images."""
    block = config["datasets"][name]
    if name in own_rows:
        side = block.get("side", 0)
        return Images(*own_rows[name], 0, side, side, counted="rows")
    if "kind" in block:
        counts, side = folder_counts(listing(name)), block["side"]
        train, test = (sum(counts[split].values()) for split in ("train", "test"))
        return Images(train, test, len(counts["train"]), side, side, counted="files")
    return FORMATS.get(config["data"]["sources"][block["source"]][0]["format"])


def format_problems(config):
    """Yield a sentence for each source whose format does not suit its use."""
    for name, block in config["datasets"].items():
        for source in config["data"]["sources"][block["source"]] if "source" in block else ():
            if source["format"] not in FORMATS:
                yield (
                    f"datasets.{name}.source: {block['source']!r} has a source in the format "
                    f"{source['format']}; images have {list_of(FORMATS)}"
                )
    source = config["human_labels"]["source"]
    for one in config["data"]["sources"][source]:
        if one.get("format") != catalogue.HUMAN_LABELS:
            yield (
                f"human_labels.source: {source!r} has a source in the format {one.get('format')}; "
                f"human labels have {catalogue.HUMAN_LABELS}"
            )


def size_problems(config, plan, listing):
    """Describe each number of the configuration for which a dataset is too small.

    Parameters
    ----------
    config : dict
        It fits the schema, and its references exist.
    plan : dict
        What runs. ``chosen``: names of experiments; ``attributed``: those of them with test points;
        ``noisy``: experiments by setting of label noise; ``fits``: output of `Plan.fits`;
        ``removal``: experiments; ``tasks``: names; ``share``: the paper's certified share;
        ``own_rows``: output of `Plan.own_rows`.
    listing : callable
        Maps the name of a folder of images to what is in it, as `Plan.folder_listing` does.

    Returns
    -------
    list of str
    """
    used = used_datasets(config, plan)
    problems = [*format_problems(config), *folder_problems(config, used, listing)]
    if problems:
        return problems
    known = {name: images_of(config, name, listing, plan["own_rows"]) for name in used}
    for name, block in config["experiments"].items():
        images = known.get(block["dataset"])
        if images and block["n_train"] != "all" and block["n_train"] > images.train:
            problems.append(
                f"experiments.{name}.n_train: {block['n_train']:,} is more than the "
                f"{images.words('train')} of {block['dataset']}"
            )
    if any(images.counted == "rows" and images.train < 2 for images in known.values()):
        # The job that reads the data gives a better message.
        return problems
    if problems or not plan["attributed"]:
        return [*problems, *fold_problems(config, plan, known)]
    problems += experiment_problems(config, plan, known)
    problems += fold_problems(config, plan, known)
    problems += noise_problems(config, plan, known)
    problems += removal_problems(config, plan, known)
    problems += retraining_problems(config, known)
    for name in {*plan["tasks"], config["robustness_gap"]["task"]}:
        problems += task_problems(config, plan, name, known)
    return [*problems, *foreign_problems(config, known)]


def used_datasets(config, plan):
    """Sorted names of the datasets that any job of the run reads."""
    used = {config["experiments"][name]["dataset"] for name in plan["chosen"]}
    if plan["attributed"]:
        used |= {config["retraining"]["dataset"], *config["ood"]["datasets"]}
        names = {*plan["tasks"], config["robustness_gap"]["task"]}
        used |= {config["wrif"]["tasks"][name]["data"] for name in names} & set(config["datasets"])
        used |= {config["human_labels"]["dataset"]}
    return sorted(used)


def n_train_of(config, name, known):
    """Number of training examples of an experiment; an upper limit if it takes all of a folder."""
    block = config["experiments"][name]
    return known[block["dataset"]].train if block["n_train"] == "all" else block["n_train"]


def experiment_problems(config, plan, known):
    """Yield numbers of test points, removals and neighbours that an experiment cannot provide."""
    deletions, refit = config["deletions"], config["refit"]
    for name in plan["attributed"]:
        block, n = config["experiments"][name], n_train_of(config, name, known)
        images = known[block["dataset"]]
        # Features of one's own have no foreign inputs.
        foreign = config["datasets"][block["dataset"]].get("kind") != "features"
        for key, value in {
            f"experiments.{name}.n_test_scored": block["n_test_scored"],
            "assumptions.n_test": config["assumptions"]["n_test"],
            "ood.n_images": config["ood"]["n_images"] if foreign else 0,
        }.items():
            if value > images.test:
                dataset = block["dataset"]
                yield f"{key}: {value:,} is more than the {images.words('test')} of {dataset}"
        for key, value, most in (
            ("deletions.removals", max(deletions["removals"]), n - 1),
            ("deletions.top_k", max(deletions["top_k"]), n - 1),
            ("ood.neighbours", config["ood"]["neighbours"] if foreign else 0, n),
        ):
            if value > most:
                yield (
                    f"{key}: {value:,} is more than the {most:,} that the {n:,} training points of "
                    f"{name} allow"
                )
        # Points of compared pairs, at most half of all, are never removed.
        removable = n - min(refit["n_points"], n // 2)
        if n < 4:
            yield f"experiments.{name}.n_train: {n} is too few; refit needs at least 4"
        elif max(refit["removals"]) > removable:
            yield (
                f"refit.removals: {max(refit['removals']):,} is more than the {removable:,} "
                f"training points of {name} that may be removed; refit.n_points, at most half of "
                "all, are kept for the compared pairs"
            )


def fold_problems(config, plan, known):
    """Yield numbers of folds that leave a head fewer than two training examples."""
    noisy = {name for names in plan["noisy"].values() for name in names}
    for name in plan["chosen"]:
        n = n_train_of(config, name, known)
        for section in ("suspects", *(["label_noise"] if name in noisy else [])):
            folds = min(config[section]["folds"], n)
            left = n - -(-n // folds)
            if left < 2:
                yield (
                    f"{section}.folds: {config[section]['folds']} folds leave {left} of the {n} "
                    f"training examples of {name} to fit a head to; 2 or more are needed"
                )


def noise_problems(config, plan, known):
    """Yield noise rates that round to no or to all labels, and human labels of other images."""
    people = config["human_labels"]["dataset"]
    if known[people] and known[people].train != 50_000:
        count = known[people].words("train")
        yield f"human_labels.dataset: {people!r} has {count}, but there are labels for 50,000"
    fits = config["label_noise"]["fits"]
    base = n_train_of(config, fits["experiment"], known) if plan["fits"] else 0
    dataset = config["experiments"][fits["experiment"]]["dataset"]
    cases = [
        (noise, name, n_train_of(config, name, known))
        for noise, names in plan["noisy"].items()
        for name in names
    ]
    for n in fits["n_train"] if base else ():
        if n > known[dataset].train:
            count = known[dataset].words("train")
            yield f"label_noise.fits.n_train: {n:,} is more than the {count} of {dataset}"
        cases.append((fits["setting"], fits["experiment"], n))
    for noise, name, n in cases:
        block, images = config["label_noise"]["settings"][noise], config["experiments"][name]
        key = f"label_noise.settings.{noise}"
        if block["kind"] == "human":
            if images["dataset"] != people:
                yield (
                    f"{key}.experiments: human labels are for {people}, but {name!r} is on "
                    f"{images['dataset']}"
                )
            continue
        wrong = round(block["rate"] * n)
        exact = images["n_train"] != "all" or not known[images["dataset"]].is_own
        if wrong == 0 or (wrong == n and exact):
            rounded = "none" if wrong == 0 else "all"
            yield (
                f"{key}.rate: {block['rate']:g} of the {n:,} training labels of {name} rounds to "
                f"{rounded} of them; more than {0.5 / n:.2g} and less than {1 - 0.5 / n:.6g} is "
                "needed"
            )


def removal_problems(config, plan, known):
    """Yield shares for figure 7 that leave too few points to fit a head to, or none to describe."""
    block = config["removal"]
    low, high = config["frontier"]["share_range"]
    if plan["removal"] and not low < plan["share"] < high:
        yield (
            f"frontier.share_range: [{low:g}, {high:g}] does not contain the paper's certified "
            f"share, {plan['share']:g}; removal ranks training points at that share"
        )
    for name in plan["removal"]:
        n = n_train_of(config, name, known)
        share = max(block["shares"])
        if n - round(share * n) < 2:
            yield (
                f"removal.shares: {share:g} of the {n:,} training points of {name} leaves "
                f"{n - round(share * n)}; 2 or more are needed"
            )
        if block["neighbours"] > n - 1:
            yield (
                f"removal.neighbours: {block['neighbours']:,} is more than the {n - 1:,} that the "
                f"{n:,} training points of {name} allow"
            )
        if round(block["looked_at"] * n) == 0:
            yield (
                f"removal.looked_at: {block['looked_at']:g} of the {n:,} training points of {name} "
                f"rounds to none; more than {0.5 / n:.2g} is needed"
            )


def retraining_problems(config, known):
    """Yield numbers of ``retraining`` for which the dataset of the networks is too small."""
    block, images = config["retraining"], known[config["retraining"]["dataset"]]
    if block["n_test"] > images.test:
        yield (
            f"retraining.n_test: {block['n_test']:,} is more than the {images.words('test')} of "
            f"{block['dataset']}"
        )
    points = f"the {images.words('train')} of {block['dataset']}"
    most, share = max(block["removal"]["shares"]), block["subsets"]["share"]
    if round(most * images.train) >= images.train:
        yield f"retraining.removal.shares: {most:g} of {points} leaves none"
    if round(share * images.train) == 0:
        yield f"retraining.subsets.share: {share:g} of {points} rounds to none"


def task_problems(config, plan, name, known):
    """Yield settings of convex models that do not suit the data of a task, or ask for too many."""
    wrif, task = config["wrif"], config["wrif"]["tasks"][name]
    key = f"wrif.tasks.{name}"
    if task["data"] in known:
        images = known[task["data"]]
        kinds, count = ("logistic", "multinomial", "ridge"), images.train + images.test
        odd = [k for k in task["classes"] if k >= images.classes]
        if odd:
            last = images.classes - 1
            yield f"{key}.classes: {odd[0]} is no class of {task['data']}, which has 0 to {last}"
            return
        if images.height % task["pool"] or images.width % task["pool"]:
            yield (
                f"{key}.pool: {task['pool']} does not divide images of "
                f"{images.height}×{images.width} pixels"
            )
        content = config["datasets"][task["data"]].get("content_sha256", "")[:16]
        if content in IN_CLASSES:
            count = sum(IN_CLASSES[content][k] for k in task["classes"])
    else:
        count, kinds = TABLES[task["data"]]
    if task["model"] not in kinds:
        suited = " or ".join(kinds)
        yield f"{key}.model: {task['model']} does not suit {task['data']}; {suited} does"
    gap, coverage = config["robustness_gap"], wrif["coverage"]
    asked = {}
    if name in plan["tasks"]:
        asked = {
            "wrif.orders.n_train": wrif["orders"]["n_train"] + wrif["orders"]["n_test"],
            "wrif.coverage.n_train": min(coverage["n_train"]) + coverage["n_test"],
        }
        for part in ("support", "attacks"):
            block = wrif[part]
            asked[f"wrif.{part}.n_train"] = block["n_train"] + block["n_test"]
            if block["n_points"] > block["n_train"]:
                yield (
                    f"wrif.{part}.n_points: {block['n_points']} is more than n_train, "
                    f"{block['n_train']}"
                )
    if name == gap["task"]:
        asked["robustness_gap.n_train"] = gap["n_train"]
        if max(round(gap["share"] * gap["n_train"]), 1) > gap["n_train"] - 2:
            yield (
                f"robustness_gap.share: {gap['share']:g} of n_train, {gap['n_train']}, leaves fewer"
                " than 2 examples"
            )
    for number, total in asked.items():
        if total > count:
            available = f"the {count:,} examples of {name}"
            yield f"{number}: {total:,} with the test points is more than {available}"


def foreign_problems(config, known):
    """Yield datasets of foreign inputs that have no test images or a name that is taken."""
    for name in config["ood"]["datasets"]:
        if name in FOREIGN:
            yield f"ood.datasets: {name!r} is the name of another set of inputs; rename the dataset"
        elif not known[name].test:
            yield f"ood.datasets: {name!r} has no test images, and these serve as foreign inputs"

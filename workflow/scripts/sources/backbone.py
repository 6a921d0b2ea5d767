"""Fetch and check the weights of one backbone, or make untrained ones from a seed."""

from dataclasses import asdict

from wtrak.errors import SourceError, WtrakError
from wtrak.geometry.backbone import backbone_state, untrained_state
from wtrak.geometry.catalogue import UNTRAINED, Preprocessing
from wtrak.geometry.networks import default_preprocessing, weights_bytes
from wtrak.job.io import save_arrays, sha256_file, write_json
from wtrak.job.runtime import run
from wtrak.sources.fetch import describe_source, first_working
from wtrak.sources.weights import read_state_dict


def main(smk):
    architecture, weights = smk.params.architecture, smk.params.weights
    preprocessing = asdict(default_preprocessing(architecture, weights))
    preprocessing = Preprocessing(**(preprocessing | smk.params.preprocessing))
    if weights == UNTRAINED:
        state = untrained_state(architecture, smk.params.seed, preprocessing.crop)
        state = backbone_state(architecture, state)
        record = {
            "weights": f"{architecture}, untrained, seed {smk.params.seed}",
            "source": "random initialisation",
        }
    else:
        size = weights_bytes(architecture)

        def use(path, source):
            try:
                return backbone_state(architecture, read_state_dict(path, size))
            except SourceError:
                raise
            except WtrakError as error:
                raise SourceError(str(error)) from error

        state, source, path = first_working(
            smk.wildcards.backbone,
            smk.params.sources,
            use,
            directory=smk.resources.data_directory,
            mirrors=[folder for folder in smk.resources.data_mirrors.split(":") if folder],
        )
        record = {
            "weights": source.get("description", path.name),
            "source": describe_source(source),
            "sha256": sha256_file(path),
        }
        if "notice" in source:
            record["notice"] = source["notice"]
    record |= {"backbone": smk.wildcards.backbone, "architecture": architecture}
    record |= {"preprocessing": asdict(preprocessing)}
    save_arrays(smk.output.weights, {key: v.numpy() for key, v in state.items()}, record)
    write_json(smk.output.record, record)


if __name__ == "__main__":
    run(main, snakemake)

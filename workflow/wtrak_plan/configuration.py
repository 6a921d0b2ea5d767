"""Find mistakes in a configuration and describe each in one line: the key, and what it may be."""

import re
from math import isfinite
from pathlib import Path

import yaml
from jsonschema import Draft202012Validator
from jsonschema.validators import extend

from wtrak.geometry.catalogue import INTERPOLATIONS
from wtrak.sources.catalogue import EMBEDDED, FORMATS, HUMAN_LABELS
from wtrak_plan import own_data
from wtrak_plan.references import broken_references

SCHEMA = Path(__file__).resolve().parents[1] / "schemas" / "config.schema.yaml"


def problems_of(config):
    """Describe every mistake in a configuration.

    Parameters
    ----------
    config : dict
        The merged configuration of Snakemake.

    Returns
    -------
    list of str
        One line for each mistake, without repetitions. References between keys are checked only
        if the configuration fits the schema.
    """
    schema = load_schema()
    # JSON Schema counts 2.0 as an integer, and NaN as above every minimum; here neither is.
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        "integer", lambda _, value: type(value) is int
    ).redefine("number", lambda _, value: type(value) in (int, float) and isfinite(value))
    errors = sorted(
        extend(Draft202012Validator, type_checker=types)(schema).iter_errors(config),
        key=lambda error: [str(part) for part in error.absolute_path],
    )
    problems = [line for error in errors for line in _explain(error, schema["$defs"])]
    return list(dict.fromkeys(problems or broken_references(config)))


def load_schema():
    """The schema of the configuration, with the names that the catalogues hold filled in."""
    # The parser in C, where there is one, is ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    schema = yaml.load(SCHEMA.read_text("utf-8"), Loader=loader)
    backbone = schema["properties"]["backbones"]["additionalProperties"]["properties"]
    backbone["preprocessing"]["properties"]["interpolation"] |= _one_of(INTERPOLATIONS)
    definitions = schema["$defs"]
    definitions["format"]["enum"] = [*FORMATS, HUMAN_LABELS]
    definitions["source_embedded"]["properties"]["name"]["enum"] = list(EMBEDDED.values())
    return schema


def _one_of(names):
    return {"enum": list(names), "description": f"one of {', '.join(names)}"}


def name_own_data(config):
    """Move data of one's own that are written inside experiments to ``datasets``.

    Each gets the name of its experiment. The kind ``auto`` becomes that of the data, and settings
    that this kind does not have are dropped.
    """
    for name, block in config["experiments"].items():
        if isinstance(block["dataset"], dict):
            config["datasets"][name] = block["dataset"]
            block["dataset"] = name
    for name, block in config["datasets"].items():
        if "kind" in block:
            config["datasets"][name] = own_data.settled(block)


def _explain(error, definitions):
    """Yield lines that describe a schema error: the key, its value, and what is allowed."""
    path = [str(part) for part in error.absolute_path]
    if "propertyNames" in error.absolute_schema_path:
        path.append(str(error.instance))
    key = ".".join(path)
    allowed = error.schema.get("description", "")
    allowed = f" ({allowed.rstrip('.')})" if allowed else ""
    if error.validator == "additionalProperties":
        known = sorted(error.schema.get("properties", {}))
        for name in sorted(set(error.instance) - set(known)):
            full = f"{key}.{name}" if key else name
            yield f"{full}: unknown key; known here are {', '.join(known)}"
    elif error.validator == "required":
        missing = [name for name in error.validator_value if name not in error.instance]
        for name in missing:
            full = f"{key}.{name}" if key else name
            about = error.schema["properties"].get(name, {})
            about = definitions.get(about.get("$ref", "").rsplit("/", 1)[-1], about)
            about = about.get("description", "")
            yield f"{full}: missing{f' ({about})' if about else ''}"
    else:
        hint = ""
        if error.validator == "type" and re.fullmatch(r"[-+]?\d+[eE][-+]?\d+", str(error.instance)):
            hint = "; YAML takes this for text, a number is written with a point, as in 1.0e-3"
        elif error.validator == "type" and re.fullmatch(r"-?\d+(\.\d*)?", str(error.instance)):
            hint = "; within a block, --config passes numbers as text: use --configfile and a file"
        yield f"{key}: {error.message}{allowed}{hint}"

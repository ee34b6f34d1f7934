"""The model card of a run: README.md with the Hub's model-index, and in words the data, metrics, audit and limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from replab import tasks
from replab.errors import RunError
from replab.records.text import code, escape, table
from replab.records.values import Values
from replab.runs.audit import audit
from replab.runs.facts import facts
from replab.runs.run import Run

TASKS = {"classify": ("image-classification", "Image Classification")}  # ours → the Hub's
OTHER = ("unconditional-image-generation", "Image Generation")
NAMES = {"accuracy": "accuracy", "loss": "loss", "ece": "expected_calibration_error"}  # ours → the Hub's
SHARED = ("README.md", "*.toml", "*.json", "model.safetensors", "model_file.txt")  # enough to predict, and no image
LISTED = 20  # classes


def card(run: Run, others: Sequence[Run] = ()) -> str:
    """Markdown that begins with YAML. `others`: the finished runs beside it, for the audit."""
    if not run.finished:
        raise RunError(f"run {run.id} is not finished; replab resume {run.id} finishes it")
    values = run.values
    measured, findings = tasks.of_run(values.task).section(values), audit(run, others)
    parts = [
        f"---\n{front(values)}---",
        f"# {escape(values.title)}",
        _summary(values, measured),
        "## Use",
        _use(values),
        "## Data",
        _data(values),
        "## Metrics",
        f"On {values.input['test_images']:,} test images that took no part in any choice.",
        table(("metric", "value"), measured),
        "## Training",
        table(("", ""), [line for line in facts(values) if line not in measured]),
        "## Audit: what might be wrong with this number?",
        "\n".join(f"- **{escape(f.sentence)}**" if f.warning else f"- {escape(f.sentence)}" for f in findings),
        "## Limits",
        "\n".join(f"- {escape(sentence)}" for sentence in _limits(values)),
    ]
    return "\n\n".join(parts) + "\n"


def front(values: Values) -> str:
    """The YAML that the Hub reads: task, library, and the results as a model-index."""
    import yaml

    kind, name = TASKS.get(values.task, OTHER)
    numbers = [
        {"type": NAMES.get(key, key), "value": round(float(value), 6), "name": key.replace("_", " ")}
        for key, value in values.metrics.items()
        if not key.endswith("_se")
    ]
    intervals = {label: text for label, text in tasks.of_run(values.task).section(values) if "interval" in text}
    for number in numbers:
        if (text := intervals.get(f"test {number['name']}")) is not None:
            number["name"] = f"{number['name']}: {text}"
    data = values.input["data"]
    dataset = {"type": data, "name": data, "split": "test", "revision": values.input["fingerprint"][:40]}
    index = {
        "name": values.record.id,
        "results": [{"task": {"type": kind, "name": name}, "dataset": dataset, "metrics": numbers}],
    }
    front: dict[str, Any] = {
        "library_name": "replab",
        "pipeline_tag": kind,
        "tags": ["replab", values.chosen.model.rpartition(":")[2]],
        "metrics": [number["type"] for number in numbers],
        "model-index": [index],
    }
    return yaml.safe_dump(front, sort_keys=False, allow_unicode=True, width=110)


def upload_command(folder: Path) -> str:
    """How huggingface_hub's own command line publishes the run, without the images in its folder."""
    return f"hf upload USER/NAME {folder} . " + " ".join(f"--include '{pattern}'" for pattern in SHARED)


def _summary(values: Values, measured: list[tuple[str, str]]) -> str:
    chosen, known = values.chosen, values.input
    first = f"{measured[0][0]} {measured[0][1]}" if measured else "not measured"
    return escape(
        f"{chosen.model} with {values.facts['parameters']:,} parameters, trained by replab"
        f" {values.environment['replab']} on {known['train_images']:,} images of {known['data']}: {first}."
    )


def _use(values: Values) -> str:
    lines = ["pip install replab"]
    if values.task == "classify":
        lines += ["replab predict FOLDER image.png", "replab export FOLDER --onnx model.onnx"]
    else:
        lines += ["replab generate FOLDER --out grid.png", "replab export FOLDER --onnx model.onnx"]
    return f"FOLDER is the folder with this card.\n\n{code(chr(10).join(lines))}"


def _data(values: Values) -> str:
    known, chosen = values.input, values.chosen
    classes = known["classes"]
    more = f" and {len(classes) - LISTED:,} more" if len(classes) > LISTED else ""
    normalised = (
        "none" if known["mean"] is None else "; ".join(f"mean {m:.4g}, deviation {s:.4g}" for m, s in _pairs(known))
    )
    return table(
        ("", ""),
        [
            ("name", known["data"]),
            ("training images", f"{known['train_images']:,}"),
            ("test images", f"{known['test_images']:,}"),
            ("shape", f"{known['channels']}x{known['height']}x{known['width']}"),
            ("classes", ", ".join(classes[:LISTED]) + more if classes else "none"),
            ("normalisation per channel", normalised),
            ("augmentation", ", ".join(chosen.augment) or "none"),
            ("fingerprint", known["fingerprint"]),
        ],
    )


def _pairs(known: dict[str, Any]) -> list[tuple[float, float]]:
    return list(zip(known["mean"], known["std"]))


def _limits(values: Values) -> Iterator[str]:
    """What the number does not say."""
    known = values.input
    if values.task == "classify":
        yield (
            f"It answers with one of its {len(known['classes'])} classes whatever the image shows; there is no answer"
            " for none of them."
        )
        yield (
            "Test and training images come from one source. Images from another camera, place or time may be answered"
            " worse than the numbers above say."
        )
        yield "Probabilities are the softmax of its outputs as they are; the calibration error above says how far off."
    else:
        yield "What it makes resembles its training images, with their gaps and biases, and may repeat some of them."
    yield (
        f"It was made for images of {known['height']}x{known['width']}; larger ones are reduced to that size, and finer"
        " detail is not seen."
    )
    yield f"The numbers are of one training with seed {values.chosen.seed}; another seed gives others."
    yield "No licence is given here: add `license:` at the top, after the terms of the data."

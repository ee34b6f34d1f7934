"""A trained model leaves its run: the files say what the run said, alone, for any number and size of images."""

import json
import shutil

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import load_file, save_file

from replab import api
from replab.backends import backend
from replab.data.decode.pictures import resized
from replab.data.images import ImageSpec
from replab.deploy import export as exporting
from replab.deploy.deployed import Classifier, Generator
from replab.deploy.formats.base import program
from replab.deploy.formats.onnx import Onnx
from replab.deploy.formats.safetensors import Safetensors
from replab.errors import FileError, ModelError, RunError
from replab.models import loader
from replab.records.values import examples
from replab.records.values.answers import log_softmax
from replab.tasks import samples

TINY = {"limit": 60, "lr": 1e-3, "epochs": 1, "quiet": True}


def said(run):
    """(kept test images, their probabilities as the run recorded them)."""
    index, pixels = examples.of_the_size(run.record)
    return pixels, np.exp(log_softmax(run.predictions["logits"][index]))


def test_every_format_agrees_with_the_predictions_of_the_run(finished_run, exported):
    folder, files = exported
    assert [file.format for file in files] == ["onnx", "torchscript", "torch-export", "safetensors"]
    assert all(file.difference < 1e-6 and file.compared > 30 for file in files)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*(file.path.name for file in files), "a.json"])
    assert "test images compared with the run, largest difference" in str(files[0])


def test_onnx_has_names_classes_and_free_sizes(finished_run, exported):
    pixels, expected = said(finished_run)
    session = onnxruntime.InferenceSession(exported[0] / "a.onnx")
    (images,), (output,) = session.get_inputs(), session.get_outputs()
    assert (images.name, images.type, images.shape) == ("images", "tensor(uint8)", ["images", 1, "height", "width"])
    assert (output.name, output.shape) == ("probabilities", ["images", 10])
    known = session.get_modelmeta().custom_metadata_map
    assert json.loads(known["classes"]) == finished_run.input["classes"]
    assert known["model"] == "mlp"
    onnx.checker.check_model(exported[0] / "a.onnx", full_check=True)
    for some in (pixels[:1], pixels):
        assert np.abs(session.run(None, {"images": some})[0] - expected[: len(some)]).max() < 1e-5
    large = np.repeat(np.repeat(pixels[:3], 4, axis=2), 4, axis=3)  # reduced again, each pixel is itself
    told = [finished_run.predict(image).probabilities for image in large]
    found = session.run(None, {"images": large})[0]
    assert np.abs(found - [list(one.values()) for one in told]).max() < 0.02


def test_other_formats_carry_the_classes_and_take_any_size(finished_run, exported):
    classes, extra = finished_run.input["classes"], {"config.json": ""}
    pixels, expected = said(finished_run)
    script = torch.jit.load(str(exported[0] / "a.pt"), _extra_files=extra)
    assert json.loads(extra["config.json"])["classes"] == classes
    extra = {"config.json": ""}
    program = torch.export.load(exported[0] / "a.pt2", extra_files=extra).module()
    assert json.loads(extra["config.json"])["classes"] == classes
    config = json.loads((exported[0] / "a.json").read_text())
    assert (config["classes"], config["size"], config["mean"]) == (classes, [1, 8, 8], finished_run.input["mean"])
    for model in (script, program):
        assert np.abs(model(torch.from_numpy(pixels[:5])).detach().numpy() - expected[:5]).max() < 1e-5
        assert model(torch.zeros(2, 1, 30, 21, dtype=torch.uint8)).shape == (2, 10)


@pytest.mark.parametrize("fit", ["crop", "pad", "squish"])
@pytest.mark.parametrize("shape", [(8, 8), (8, 30), (31, 17), (4, 4), (200, 90)])
def test_resizing_is_that_of_pictures_to_one_gray_level(shape, fit):
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3, *shape), dtype=np.uint8)
    deployed = Classifier(torch.nn.Identity(), (3, 8, 8), None, None, fit)
    squared = deployed.squared(torch.from_numpy(pixels).float(), 8).numpy()
    difference = np.abs(squared - resized(pixels, 8, fit=fit))
    assert difference.max() <= 1
    assert (difference > 0).mean() < 0.2  # PIL rounds after either direction first, as it is cheaper


def images_of(file, latent, **labels):
    """Five images of an ONNX file, from the noise that `generate` draws by seed 0, as gray levels."""
    noise = np.random.default_rng(0).standard_normal((5, latent), dtype=np.float32)
    return np.round(onnxruntime.InferenceSession(file).run(None, {"noise": noise, **labels})[0] * 255)


def test_a_decoder_makes_the_images_of_the_run(tmp_path):
    run = api.run("cvae", params={"latent": 4}, runs=tmp_path / "runs", **TINY)
    (file,) = exporting.export(run, {"onnx": tmp_path / "g.onnx"})
    assert file.difference < 1e-5
    assert file.what == "drawn images"
    made = images_of(file.path, 4, labels=np.full(5, 3))
    assert made.shape == (5, 1, 8, 8)
    assert np.abs(made - run.generate(5, label="3")).max() <= 1


def test_a_generator_makes_the_images_of_its_model(tmp_path):
    torch_backend = backend.get("torch")
    model = loader.build(
        loader.find("dcgan", torch_backend), ImageSpec(1, 8, 8, 10), {"latent": 4, "width": 4}, torch_backend
    )
    deployed = Generator(model)
    Onnx.write(deployed, {"model": "dcgan"}, tmp_path / "g.onnx", program(deployed, "dcgan"))
    assert np.abs(images_of(tmp_path / "g.onnx", 4) - samples.draw(model.eval(), 5, seed=0)).max() <= 1


def test_a_file_that_differs_is_an_error_and_leaves_nothing(finished_run, tmp_path, monkeypatch):
    write = Safetensors.write

    def wrong(deployed, config, path, program):
        write(deployed, config, path, program)
        save_file({name: 1.5 * value for name, value in load_file(path).items()}, path)

    monkeypatch.setattr(Safetensors, "write", staticmethod(wrong))
    monkeypatch.setattr(exporting, "program", lambda *_: None)  # TorchScript is traced without it
    files = {"torchscript": tmp_path / "a.pt", "safetensors": tmp_path / "a.safetensors"}
    with pytest.raises(ModelError, match=r"differs from run .* and 1e-04 is allowed; nothing was written"):
        exporting.export(finished_run, files)
    assert list(tmp_path.iterdir()) == []


BRANCH = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self, image):
        super().__init__()
        self.layer = nn.Linear(64, 10)

    def forward(self, x):
        x = x.flatten(1)
        if x.sum() > 0:
            x = -x
        return self.layer(x)
"""


def test_a_branch_on_data_is_refused_by_its_line(refuses, in_tmp):
    (in_tmp / "branch.py").write_text(BRANCH)
    run = api.run("branch.py:Net", runs=in_tmp / "runs", **TINY)
    before = sorted(in_tmp.iterdir())
    line = refuses("export", run.id, "--torchscript", "a.pt", "--onnx", "a.onnx", runs=in_tmp / "runs")
    assert "branch.py:Net decides by the values it computes (branch.py line 12)" in line
    assert "torch.where" in line
    assert sorted(in_tmp.iterdir()) == before


def test_what_cannot_be_exported_is_refused_at_once(refuses, a_run, tmp_path, monkeypatch):
    runs = a_run.folder.parent
    assert "export needs at least one file; --onnx or" in refuses("export", a_run.id, runs=runs)
    assert "got the folder" in refuses("export", a_run.id, "--onnx", tmp_path, runs=runs)
    assert "there is no folder" in refuses("export", a_run.id, "--onnx", tmp_path / "no/a.onnx", runs=runs)
    with pytest.raises(FileError, match="a file of its own"):
        exporting.export(a_run, {"onnx": tmp_path / "a", "torchscript": tmp_path / "a"})
    monkeypatch.setattr(exporting.importlib.util, "find_spec", lambda name: None)
    line = refuses("export", a_run.id, "--onnx", tmp_path / "a.onnx", runs=runs)
    assert "--onnx needs onnx, onnxscript, onnxruntime, not installed; pip install 'replab[onnx]'" in line
    (a_run.folder / "metrics.json").unlink()
    with pytest.raises(RunError, match="is not finished"):
        exporting.export(a_run, {"safetensors": tmp_path / "a.safetensors"})


def test_a_run_of_mytorch_leaves_by_torch(tmp_path):
    run = api.run("mlp", backend="mytorch", params={"widths": [8]}, runs=tmp_path, **TINY)
    (file,) = exporting.export(run, {"torchscript": tmp_path / "a.pt"})
    assert file.difference < 1e-5


def test_the_folder_alone_is_enough(tmp_path, monkeypatch, replab):
    """Moved, with the data and every cache gone: predict, explain, embed and export, by the views of the run."""
    from PIL import Image

    rng = np.random.default_rng(0)
    for kind in ("cat", "dog"):
        (tmp_path / "photos" / kind).mkdir(parents=True)
        for i in range(12):
            pixels = rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / f"photos/{kind}/{i}.png")
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))
    run = api.run("conv1", str(tmp_path / "photos"), tta="multicrop", runs=tmp_path / "runs", **TINY)
    Image.fromarray(pixels).save(tmp_path / "one.png")
    expected = run.predict(tmp_path / "one.png").probability
    shutil.move(run.folder, tmp_path / "elsewhere")
    for gone in ("photos", "cache", "runs"):
        shutil.rmtree(tmp_path / gone, ignore_errors=True)
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "other cache"))
    monkeypatch.chdir(tmp_path)
    code, out, err = replab("predict", "elsewhere", "one.png", "--json")
    assert code == 0, err
    assert max(json.loads(out)["probabilities"].values()) == pytest.approx(expected, abs=1e-6)
    code, out, err = replab("explain", "elsewhere", "one.png")
    assert code == 0, err
    code, out, err = replab("embed", "elsewhere")
    assert code == 0, err
    assert "5 test images that the run kept" in out
    code, out, err = replab("export", "elsewhere", "--onnx", "a.onnx")
    assert code == 0, err
    assert "test images compared with the run, largest difference" in out
    told = onnxruntime.InferenceSession("a.onnx").run(None, {"images": pixels.transpose(2, 0, 1)[None]})[0]
    assert told.max() == pytest.approx(expected, abs=1e-6)
    moved = api.load_run("elsewhere")
    network, known = moved.model(), moved.input
    alone = Classifier(network, (3, 8, 8), known["mean"], known["std"])  # without views it says something else
    assert abs(exporting.outputs(alone, images=pixels.transpose(2, 0, 1)[None]).max() - expected) > 1e-5

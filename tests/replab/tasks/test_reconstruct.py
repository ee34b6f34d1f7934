"""The VAE family: loss values by hand, gradients, rows, evaluation with what was fitted on training images."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from generative_models import not_blank
from PIL import Image

from replab import api, tasks
from replab.data.batches import Batch, Batches
from replab.data.images import ImageSpec
from replab.errors import ModelError, RecipeError, RunError, UnknownName
from replab.models.registry import MODELS
from replab.settings.recipe import Recipe
from replab.tasks import samples
from replab.tasks.reconstruct import Reconstruct
from replab.training import prepare as setup

DIGITS = ImageSpec(1, 8, 8, 10)


def model_and_batch(name="vae", **params):
    torch.manual_seed(0)
    model = MODELS.get(name)(DIGITS, latent=4, **params)
    return model, Batch(torch.rand(6, 1, 8, 8), torch.arange(6), torch.arange(6))


def test_loss_by_hand():
    """Squared error and KL are summed over an image, one number an image."""
    model, batch = model_and_batch(beta=3.0)
    model.eval()
    noise = torch.randn(6, 4)
    terms = Reconstruct(torch).terms(model, batch, noise)
    with torch.no_grad():
        mean, logvar = model.posterior(model.encoder(batch.x))
        image = model.decode(mean + logvar.exp().sqrt() * noise)
        error = torch.stack([((image[i] - batch.x[i]) ** 2).sum() for i in range(6)])
        kl = torch.stack([0.5 * (mean[i] ** 2 + logvar[i].exp() - 1 - logvar[i]).sum() for i in range(6)])
    torch.testing.assert_close(terms["mse"], error)
    torch.testing.assert_close(terms["kl"], kl)
    torch.testing.assert_close(terms["loss"], error + 3 * kl)


def test_the_head_adds_gamma_times_cross_entropy_and_gamma_0_leaves_it_untaught():
    model, batch = model_and_batch("cvae-head", gamma=2.0)
    noise = torch.zeros(6, 4)
    terms = Reconstruct(torch).terms(model.eval(), batch, noise)
    ce = torch.nn.functional.cross_entropy(model.head(model.encoder(batch.x)), batch.y, reduction="none")
    torch.testing.assert_close(terms["loss"], terms["mse"] + terms["kl"] + 2 * ce)
    control, _ = model_and_batch("cvae-head", gamma=0.0)
    Reconstruct(torch).terms(control, batch, noise)["loss"].mean().backward()
    assert not control.head.weight.grad.any()
    assert control.mean.weight.grad.any()


def test_without_decoder_the_encoder_and_head_learn_alone():
    model, batch = model_and_batch("cvae-head", gamma=2.0, decoder=False)
    ((_, loss, logs),) = Reconstruct(torch).losses(model, batch)
    ce = torch.nn.functional.cross_entropy(model.head(model.encoder(batch.x)), batch.y, reduction="none")
    torch.testing.assert_close(loss, 2 * ce)
    loss.mean().backward()
    taught = {name.partition(".")[0] for name, p in model.named_parameters() if p.grad is not None}
    assert taught == {"encoder", "head"}
    assert set(logs) == {"loss", "ce", "accuracy"}


def test_a_control_without_decoder_has_a_class_and_no_pictures(tmp_path, refuses):
    params = {"latent": 4, "decoder": False}
    run = api.run("cvae-head", limit=60, lr=1e-3, epochs=1, params=params, runs=tmp_path, quiet=True)
    assert {"accuracy", "loss", "ce"} <= set(run.metrics)
    assert not {"kl", "bits_per_dim", "cluster_accuracy"} & set(run.metrics)  # of latents that learned nothing
    assert not {"samples", "reconstructions", "latent"} & set(run.figures)
    assert not (run.folder / "samples").exists()
    assert run.predict(run.reopened().data.test.pixels[0]).label in run.input["classes"]
    said = refuses("generate", run.id, runs=tmp_path)
    assert "cvae-head decoder=False, which makes no images" in said


@pytest.mark.parametrize("name", ["vae", "cvae", "vq-vae"])
def test_no_phase_of_the_lattice_starts_saturated(name):
    """Squared error has no gradient through a saturated sigmoid: such pixels would stay white dots for good."""
    for seed in range(12):
        torch.manual_seed(seed)
        model = MODELS.get(name)(ImageSpec(1, 16, 16, 10))
        with torch.no_grad():
            made = model(torch.rand(8, 1, 16, 16))
        phases = torch.stack([made[:, :, i::4, j::4].mean() for i in range(4) for j in range(4)])
        assert 0.25 < phases.min() < phases.max() < 0.75


@pytest.mark.parametrize("name", ["vae", "cvae", "cvae-head"])
def test_every_parameter_gets_a_gradient(name):
    model, batch = model_and_batch(name)
    ((part, losses, logs),) = Reconstruct(torch).losses(model.train(), batch)
    assert part == "model"
    assert losses.shape == (6,)
    assert {"loss", "mse", "kl"} <= set(logs)
    losses.mean().backward()
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


def test_means_kept_for_pictures_are_not_told_the_label():
    model, batch = model_and_batch("cvae")
    other = batch._replace(y=batch.y.flip(0))
    one, two = (Reconstruct(torch).outputs(model.eval(), b) for b in (batch, other))
    assert torch.equal(one["mean"], two["mean"])
    assert not torch.equal(one["kl"], two["kl"])


def test_evaluation_repeats_and_does_not_depend_on_batches(digits):
    from replab.backends import backend
    from replab.training.evaluate import evaluate

    model, _ = model_and_batch()
    torch_ = backend.get("torch")
    found = [
        evaluate(model, Reconstruct(torch), Batches(digits.test, size), torch_, "cpu").outputs["loss"]
        for size in (5, 64)
    ]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def concluded(task, model, data, batch_size=16):
    """As a run does it: fitted on training images, applied to test images."""
    from replab.backends import backend
    from replab.training.evaluate import evaluate

    batches = Batches(data.test, 64)
    train, test = (
        evaluate(model, task, b, backend.get("torch"), "cpu").outputs for b in (Batches(data.train, 64), batches)
    )
    return task.conclude(model.eval(), batches, data, test, task.finish(train, data.train, 0), batch_size)


def by_class(data):
    """The same images as a folder gives them: class after class."""
    parts = {part: getattr(data, part) for part in ("train", "test")}
    return replace(data, **{k: v.subset(np.argsort(v.labels, kind="stable")) for k, v in parts.items()})


def test_the_published_rule_is_not_flattered_by_images_in_the_order_of_their_classes(digits, monkeypatch):
    """Where a batch is all of one class, its total loss names it rightly; the published batches were mixed."""
    model, _ = model_and_batch("cvae")
    data, task = by_class(digits), Reconstruct(torch)
    losses = 1 - np.eye(10)[data.test.labels]  # the image's own class is the least, for every image
    monkeypatch.setattr(Reconstruct, "class_scores", lambda *args: (-losses, losses))
    metrics, _ = concluded(task, model, data)
    assert metrics["accuracy"] == metrics["one_sample_accuracy"] == 1
    assert metrics["batch_total_accuracy"] < 0.5


def test_what_is_shown_and_scored_is_of_all_classes(digits, monkeypatch):
    """Of a folder's images, which come class by class, the first would be of one class."""
    monkeypatch.setattr(samples, "POINTS", 0)  # no t-SNE here
    model, _ = model_and_batch()
    data = by_class(digits)
    data = replace(data, test=data.test.subset(np.repeat(np.arange(len(data.test)), 8)))
    metrics, arrays = concluded(Reconstruct(torch), model, data)
    known = {image.tobytes(): label for image, label in zip(data.test.pixels, data.test.labels)}
    assert len({known[image.tobytes()] for image in arrays["originals"]}) > 4
    with torch.no_grad():
        again = model.eval()(torch.from_numpy(arrays["originals"] / np.float32(255))).numpy() * 255
    np.testing.assert_allclose(arrays["reconstructions"], again, atol=0.51)  # each below its own original
    whole = concluded(Reconstruct(torch), model, digits)[0]
    for key in ("bits_per_dim", "bits_per_dim_mean_image"):
        assert metrics[key] == pytest.approx(whole[key], rel=0.02)


def test_the_model_says_the_task_and_the_range():
    ready = setup.prepare(Recipe(model="vae", limit=50, params={"latent": 4}))
    assert ready.task.name == "reconstruct"
    assert ready.recipe.normalise == "none"
    tanh = setup.prepare(Recipe(model="vae", limit=50, params={"latent": 4, "output": "tanh"}))
    assert tanh.recipe.normalise == "half"
    assert setup.prepare(Recipe(model="mlp", limit=50)).task.name == "classify"
    with pytest.raises(RecipeError, match=r"vae makes pixels from 0 to 1, got --normalise half; --normalise none fits"):
        setup.prepare(Recipe(model="vae", limit=50, normalise="half"))
    with pytest.raises(RecipeError, match="reconstruct runs on torch, got --backend mytorch"):
        setup.prepare(Recipe(model="vae", limit=50, backend="mytorch"))
    with pytest.raises(ModelError, match="vae needs beta to be a number above 0, got 0"):
        setup.prepare(Recipe(model="vae", limit=50, params={"beta": 0}))
    with pytest.raises(RecipeError, match="beta is part of what a search minimises"):
        setup.prepare(Recipe(model="vae", limit=50).replace(search={"space": {"beta": [0.1, 1.0]}}))


def test_a_users_function_says_its_task_too():
    def mine():
        pass

    mine.task = "reconstruct"
    assert tasks.make(Recipe(), DIGITS, torch, mine).name == "reconstruct"
    mine.task = print  # anything else of that name is not meant
    assert tasks.make(Recipe(), DIGITS, torch, mine).name == "classify"
    mine.task = "dream"
    with pytest.raises(UnknownName, match="no task named 'dream'"):
        tasks.make(Recipe(), DIGITS, torch, mine)


@pytest.fixture(scope="module", params=["vae", "cvae", "cvae-head"])
def a_generative_run(request, tmp_path_factory):
    params = {"latent": 4} | ({"samples": 2} if request.param == "cvae" else {})
    folder = tmp_path_factory.mktemp("generative")
    return api.run(request.param, limit=120, lr=1e-3, epochs=2, params=params, runs=folder, quiet=True)


def test_a_run_from_end_to_end(a_generative_run):
    run = a_generative_run
    assert {"train_loss", "train_mse", "train_kl", "test_loss", "test_mse", "test_kl"} <= set(run.epochs[-1])
    metrics = run.metrics
    assert metrics["decoder_variance"] == 0.5
    assert ("+ γ cross-entropy" in run.report) == ("test_ce" in run.epochs[-1]) == (run.chosen.model == "cvae-head")
    assert {"cluster_accuracy", "cluster_accuracy_on_test", "pixel_cluster_accuracy", "nmi"} <= set(metrics)
    assert 0 <= metrics["active_units"] <= 4
    assert ("accuracy" in metrics) == (run.chosen.model != "vae")
    assert ("batch_total_accuracy" in metrics) == (run.chosen.model == "cvae")
    assert "p(x\\|z) has variance β/2" in run.report
    cells = [line.replace("\\|", "").count("|") for line in run._repr_markdown_().splitlines()]
    assert set(cells) == {3}  # two cells a line, whatever is in them
    assert "as published" in run.report


def test_bits_and_active_units_have_their_ceilings(a_generative_run):
    metrics, report = a_generative_run.metrics, a_generative_run.report
    assert 6 < metrics["bits_per_dim_mean_image"] < 9  # digits' pixels spread over most of their range
    assert f"ceilings: {metrics['bits_per_dim_mean_image']:.4f} by the training images' mean alone" in report
    assert f"{metrics['active_units']:.0f} (of 4; 0 when the decoder ignores z)" in report


def test_prediction_is_by_the_right_rule_whatever_images_are_beside(a_generative_run):
    run = a_generative_run
    images = list(run.reopened().data.test.pixels[:3])
    if run.chosen.model == "vae":
        with pytest.raises(RunError, match="which names no classes"):
            run.predict(images)
        return
    said = run.predict(images)
    assert said[2].probabilities == pytest.approx(run.predict(images[2]).probabilities, rel=1e-4)
    assert sum(said[0].probabilities.values()) == pytest.approx(1)
    # the first image has the noise that it has in the evaluation of the test images
    assert said[0].label == run.input["classes"][run.predictions["logits"][0].argmax()]


def test_the_pictures_are_there_and_not_blank(a_generative_run):
    run = a_generative_run
    names = {"samples", "reconstructions", "interpolation", "latent", "curves"}
    names |= {"around_centres"} if run.chosen.model == "vae" else {"samples_by_class"}
    assert names <= set(run.figures)
    grids = sorted((run.folder / "samples").glob("*.png"))
    assert [g.name for g in grids] == ["epoch-0001.png", "epoch-0002.png"]
    not_blank([*grids, *(run.figures[name].path for name in names)])
    with Image.open(run.folder / "figures/samples.gif") as gif:
        assert gif.n_frames == 2


def test_the_plane_of_latents_is_coloured_by_class_and_by_cluster(a_generative_run):
    run = a_generative_run
    kept = run.predictions
    drawn = Reconstruct.figures(run.values)["latent"]()
    ways = ["by class", "by cluster"] + ["by predicted class"] * (run.chosen.model != "vae")
    assert [ax.get_title(loc="left") or ax.get_title() for ax in drawn.axes] == ways
    for ax, group in zip(drawn.axes, (kept["labels"], kept["cluster"])):
        sizes = [len(points.get_offsets()) for points in ax.collections]
        assert sizes == np.unique(group[kept["embedding_index"]], return_counts=True)[1].tolist()


@pytest.mark.parametrize("zipped", [False, True])
def test_unlabelled_images_are_enough(tmp_path, zipped):
    rng = np.random.default_rng(0)
    for i in range(24):
        (tmp_path / "faces").mkdir(exist_ok=True)
        Image.fromarray(rng.integers(0, 256, (9, 9, 3), dtype=np.uint8)).save(tmp_path / f"faces/{i}.png")
    data, runs = str(tmp_path / "faces"), tmp_path / "runs"
    if zipped:
        data = shutil.make_archive(data, "zip", tmp_path, "faces")
    run = api.run("vae", data, size=16, lr=1e-3, epochs=1, params={"latent": 3}, runs=runs, quiet=True)
    assert "cluster_accuracy" not in run.metrics
    assert {"samples", "around_centres"} <= set(run.figures)
    with pytest.raises(ModelError, match="cvae needs images of at least 2 classes, got 0"):
        api.run("cvae", data, size=16, lr=1e-3, epochs=1, runs=runs, quiet=True)


def test_the_rate_of_a_vae_is_searched_by_its_validation_loss(tmp_path):
    search = {"trials": 2, "max_epochs": 1, "fraction": 1.0, "min_validation": 20}
    run = api.run("vae", limit=80, params={"latent": 3}, search=search, runs=tmp_path, quiet=True)
    assert len(run.trials) == 2
    assert run.chosen.lr in [t["params"]["lr"] for t in run.trials]

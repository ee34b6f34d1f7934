"""Flags: one per setting, the same for every command that takes settings; what a report repeats gives the same run."""

import shlex

import pytest
import typer.main
from example_settings import another_value, recipes, with_value
from hypothesis import given, settings

from replab.cli.app import app
from replab.cli.flags import recipe_keys
from replab.preflight import requested
from replab.settings.recipe import Recipe, all_settings
from replab.settings.recipe_file import FORMAT
from replab.settings.search import Search

FLAGS = {s.flag for s in all_settings() if s.flag.startswith("-")}
COMMANDS = typer.main.get_command(app).commands
OWN = {  # settings that a command decides itself
    "run": set(), "compare": set(), "show": set(), "sweep": set(),
    "lr-find": {"--lr"}, "transfer": {"--lr", "--mup", "--base-width"},
}  # fmt: skip


@pytest.mark.parametrize("command", OWN)
def test_commands_take_the_same_flags(command):
    options = {flag for parameter in COMMANDS[command].params for flag in parameter.opts}
    assert FLAGS - options == OWN[command]


def test_run_comes_first_and_every_command_has_a_panel_and_a_line_of_help():
    assert next(iter(COMMANDS)) == "run"
    assert all(command.rich_help_panel and command.help for command in COMMANDS.values())
    for name, command in COMMANDS.items():
        for parameter in command.params:
            assert parameter.help, f"{name} {parameter.name}"


def recipe_of(command: str) -> Recipe:
    """The recipe that the command line makes of a command, without running it."""
    program, verb, *words = shlex.split(command)
    assert (program, verb) == ("replab", "run")
    context = COMMANDS["run"].make_context("run", words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replab.preflight.check", lambda *_, **__: None)  # its names are made up
        return requested(context.params["model"], recipe=context.params["recipe"], **recipe_keys(context.params))


@pytest.mark.parametrize("declared", [s for s in all_settings() if s.name != "model"], ids=lambda s: s.key)
def test_every_flag_reaches_the_recipe(declared):
    recipe = with_value(declared, another_value(declared))
    command = recipe.command("r.toml")
    assert "--recipe" not in command
    assert recipe_of(command) == recipe


@given(recipe=recipes)
@settings(max_examples=40, deadline=None)
def test_the_command_gives_the_same_recipe(recipe, tmp_path_factory):
    if recipe.model.startswith("-"):
        recipe = recipe.replace(model="cnn")  # no file or model is named like a flag
    file = tmp_path_factory.mktemp("recipe") / "recipe.toml"
    file.write_text(recipe.to_toml(), encoding="utf-8")
    assert recipe_of(recipe.command(file)) == recipe


def test_help_shows_the_defaults_that_a_run_has():
    helped = {flag: parameter.help for parameter in COMMANDS["run"].params for flag in parameter.opts}
    assert "default: one-cycle" in helped["--schedule"]
    assert "default: 6" in helped["--trials"]
    assert "default: standard" in helped["--protocol"]


def test_pretrained_alone_means_the_normalisation_of_the_backbone(monkeypatch):
    monkeypatch.setattr("replab.models.pretrained.names.check_reachable", lambda model: None)
    assert recipe_of("replab run resnet18 --pretrained").normalise == "backbone"
    plain = Recipe(model="resnet18", pretrained=True)
    assert recipe_of(plain.command("r.toml")) == plain


def test_flags_override_a_recipe(tmp_path):
    file = tmp_path / "r.toml"
    text = 'model = "mlp"\nlr = 0.1\nfreeze = true\n[params]\nwidths = [8]\n[search]\ntrials = 3\n'
    file.write_text(f"format = {FORMAT}\n{text}")
    recipe = recipe_of(f"replab run --recipe {file} --lr 0.5 --no-freeze --set depth=2 --patience 7")
    assert recipe == Recipe(
        model="mlp", lr=0.5, params={"widths": [8], "depth": 2}, search=Search(trials=3, patience=7)
    )

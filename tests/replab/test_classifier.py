"""replab.Classifier with scikit-learn's own tools."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from replab import Classifier
from replab.errors import DataError, RecipeError, UnknownName

X, Y = load_digits(return_X_y=True)
X, Y = X[:300], Y[:300]
SMALL = {"lr": 0.01, "epochs": 3, "batch_size": 16, "params": {"widths": [32]}}


@pytest.fixture(scope="module")
def fitted():
    return Classifier("mlp", **SMALL).fit(X, np.array([f"digit {y}" for y in Y]))


def test_labels_of_any_kind(fitted):
    assert fitted.predict(X[:5]).tolist() == [f"digit {y}" for y in Y[:5]]
    shares = fitted.predict_proba(X[:7])
    assert shares.shape == (7, 10)
    np.testing.assert_allclose(shares.sum(1), 1)
    assert fitted.classes_[shares.argmax(1)].tolist() == fitted.predict(X[:7]).tolist()
    assert fitted.score(X, [f"digit {y}" for y in Y]) > 0.9


def test_it_is_what_the_recipe_trains(fitted):
    """The same numbers as the loop of replab.run on the same images."""
    assert [row["epoch"] for row in fitted.epochs_] == [1, 2, 3]
    again = clone(fitted).fit(X, np.array([f"digit {y}" for y in Y]))
    assert again.epochs_ == fitted.epochs_


def test_a_pickled_one_answers_the_same(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X[:9]), fitted.predict_proba(X[:9]))


def test_clone_and_parameters():
    one = Classifier("cnn", lr=0.5, augment="flip")
    two = clone(one)
    assert two is not one
    assert two.get_params() == one.get_params()
    assert two.set_params(lr=0.1, model="mlp").get_params()["lr"] == 0.1
    assert (two.model, one.settings["lr"]) == ("mlp", 0.5)
    with pytest.raises(UnknownName, match=r"no setting of a Classifier named 'epoch'. Did you mean 'epochs'"):
        Classifier("mlp", epoch=3)


def test_pipeline_and_cross_validation():
    for scaler in (MinMaxScaler(), StandardScaler()):
        scores = cross_val_score(make_pipeline(scaler, Classifier("mlp", **SMALL)), X, Y, cv=2)
        assert scores.mean() > 0.6


def test_grid_search():
    grid = GridSearchCV(Classifier("mlp", **SMALL), {"lr": [1e-6, 0.01], "optimizer": ["adam"]}, cv=2).fit(X, Y)
    assert grid.best_params_ == {"lr": 0.01, "optimizer": "adam"}
    assert grid.best_estimator_.predict(X[:3]).tolist() == Y[:3].tolist()


def test_shapes_of_images():
    images = (X / 16 * 255).astype(np.uint8).reshape(-1, 8, 8)
    flat, square, last = (
        Classifier("mlp", **SMALL).fit(x, Y).predict_proba(x[:4])
        for x in (images.reshape(-1, 64), images, images[..., None])
    )
    np.testing.assert_array_equal(flat, square)
    np.testing.assert_array_equal(flat, last)
    colour = np.repeat(images[:, None], 3, 1).reshape(len(images), -1)
    assert Classifier("mlp", shape=(3, 8, 8), **SMALL).fit(colour, Y).image_ == (3, 8, 8)


def test_refused(fitted):
    with pytest.raises(NotFittedError):
        Classifier().predict(X)
    with pytest.raises(DataError, match=r"rows of 63 numbers are not square gray images.*shape=\(3, 32, 32\)"):
        Classifier("mlp").fit(X[:, 1:], Y)
    with pytest.raises(DataError, match="y must name at least two classes, got one"):
        Classifier("mlp").fit(X, np.zeros(len(X)))
    with pytest.raises(DataError, match="y must be one label per image"):
        Classifier("mlp").fit(X, Y[1:])
    with pytest.raises(DataError, match="must be finite"):
        Classifier("mlp").fit(np.where(X == 0, np.nan, X), Y)
    with pytest.raises(DataError, match="of the shape that fit"):
        fitted.predict(np.zeros((1, 9, 9)))
    with pytest.raises(RecipeError, match="GridSearchCV searches"):
        Classifier("mlp", lr=None).fit(X, Y)

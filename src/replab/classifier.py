"""Classifier: any model of replab as a scikit-learn estimator, for pipelines, cross-validation and grid searches.

    from replab import Classifier
    Classifier("cnn", epochs=5).fit(x, y).predict(x_test)

It trains as replab.run does and keeps no folder. `settings` are a Recipe's keys; scikit-learn sees each as a parameter
of its own, so that GridSearchCV(Classifier("mlp"), {"lr": [1e-3, 1e-2]}) works.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin

from replab import api
from replab.data.images import Dataset, Images, moments, statistics
from replab.data.normalise import normalisation, spell
from replab.data.objects import pixels_of
from replab.errors import DataError, RecipeError, UnknownName
from replab.records.values.answers import log_softmax
from replab.settings.recipe import all_settings

DEFAULTS: dict[str, Any] = {"protocol": "plain", "lr": 1e-3, "epochs": 10}


class Classifier(ClassifierMixin, BaseEstimator):
    """Images as (N, H, W), (N, C, H, W), (N, H, W, C), or as flat rows (N, H·W) of square gray images.

    uint8 pixels are taken as they are. Other numbers are scaled to 0..255 by the least and largest that fit() saw.
    `shape` says how flat rows become images: (8, 8) or (3, 32, 32). Labels may be of any kind.
    """

    def __init__(self, model: Any = "cnn", *, shape: tuple[int, ...] | None = None, **settings: Any):
        known = [s.name for s in all_settings() if not s.key.startswith("search.")]
        for key in settings:
            if key not in known:
                raise UnknownName("setting of a Classifier", key, known, "a Recipe's keys: lr, epochs, augment …")
        self.model, self.shape, self.settings = model, shape, {**DEFAULTS, **settings}

    # -- parameters, as scikit-learn asks for them -------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"model": self.model, "shape": self.shape, **self.settings}

    def set_params(self, **params: Any) -> Classifier:
        changed = type(self)(**{**self.get_params(), **params})
        self.model, self.shape, self.settings = changed.model, changed.shape, changed.settings
        return self

    # -- fitting and predicting --------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> Classifier:
        X, y = np.asarray(X), np.asarray(y)
        if y.ndim != 1 or len(y) != len(X):
            raise DataError(f"y must be one label per image, got {y.shape} for {len(X)} images")
        self.classes_, labels = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError("y must name at least two classes, got one")
        self.n_features_in_ = int(X[0].size)
        self.range_ = None if X.dtype == np.uint8 else (float(np.min(X)), float(np.max(X)))
        pixels = self._pixels(X)
        mean, std = statistics(moments(pixels), pixels[0, 0].size)
        images = Images(pixels, labels.astype(np.int64), tuple(map(str, self.classes_)), mean, std)
        experiment = api.prepare(self.model, Dataset("arrays", images, images, "Classifier"), **self.settings)
        recipe = experiment.recipe
        if recipe.lr is None or recipe.epochs is None or recipe.search.space:
            raise RecipeError(
                "a Classifier trains with what it is given, got an open lr, epochs or search; GridSearchCV searches"
            )
        from replab.backends.backend import array
        from replab.records.events import Events

        learner = experiment.learner(Events())
        model = learner.model(recipe)
        self.epochs_ = [row for row, _ in learner.fit(model, recipe)]
        self.state_ = {name: array(value) for name, value in learner.whole_state(model).items()}
        used = normalisation(images, recipe.normalise)
        self.recipe_ = recipe if used is None else recipe.replace(normalise=spell(*used))
        self.image_ = pixels.shape[1:]
        self._network: Any = None
        return self

    def predict(self, X: Any) -> np.ndarray:
        answers = self._logits(X).argmax(1)
        return np.asarray(self.classes_[answers])

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, classes), in the order of classes_."""
        return np.asarray(np.exp(log_softmax(self._logits(X).astype(np.float64))))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_network": None}  # plain values: it is made again from them

    def _logits(self, X: Any) -> np.ndarray:
        if not hasattr(self, "state_"):
            from sklearn.exceptions import NotFittedError

            raise NotFittedError("this Classifier has not been fitted; call fit(X, y) first")
        pixels = self._pixels(np.asarray(X))
        if pixels.shape[1:] != self.image_:
            raise DataError(f"images must be of the shape that fit() saw, {self.image_}, got {pixels.shape[1:]}")
        experiment, network = self._restored()
        labels = np.zeros(len(pixels), np.int64)
        shown = Images(pixels, labels, tuple(map(str, self.classes_)), (), ())
        found = experiment.evaluate(network, shown, self.recipe_, trained_on=shown)
        return np.asarray(found.outputs["logits"])

    def _restored(self) -> tuple[Any, Any]:
        """The experiment and its trained network, made of the plain values that fit() left."""
        if self._network is None:
            pixels = np.broadcast_to(np.zeros((1, *self.image_), np.uint8), (len(self.classes_), *self.image_))
            labels = np.arange(len(self.classes_))
            half, one = (0.5,) * self.image_[0], (1.0,) * self.image_[0]
            blank = Images(pixels, labels, tuple(map(str, self.classes_)), half, one)
            settings = {**self.settings, "pretrained": False, "weights": "", "normalise": self.recipe_.normalise}
            experiment = api.prepare(self.model, Dataset("arrays", blank, blank, "Classifier"), **settings)
            network = experiment.model(self.recipe_.replace(pretrained=False, weights=""))
            lib = experiment.backend.lib
            network.load_state_dict({name: lib.from_numpy(value.copy()) for name, value in self.state_.items()})
            self._network = experiment, network.eval()
        return self._network

    def _pixels(self, X: np.ndarray) -> np.ndarray:
        """uint8 (N, C, H, W)."""
        if X.dtype.kind not in "uifb" or not len(X):
            raise DataError(f"X must be an array of numbers, at least one image, got {X.dtype} {X.shape}")
        if X.ndim == 2:
            X = X.reshape(len(X), *self._shape_of(X.shape[1]))
        if X.dtype == np.uint8 and self.range_ is None:
            return pixels_of(X)
        low, high = self.range_ or (0.0, 255.0)
        if not math.isfinite(low + high):
            raise DataError("X must be finite numbers, got NaN or infinity; clean it first")
        return pixels_of(np.clip((X.astype(np.float64) - low) / ((high - low) or 1.0), 0.0, 1.0))

    def _shape_of(self, numbers: int) -> tuple[int, ...]:
        side = math.isqrt(numbers)
        if self.shape is not None and math.prod(self.shape) == numbers:
            return self.shape
        if self.shape is None and side * side == numbers:
            return (side, side)
        raise DataError(
            f"rows of {numbers} numbers are not square gray images, got shape={self.shape};"
            " Classifier(shape=(3, 32, 32)) says how they become images"
        )

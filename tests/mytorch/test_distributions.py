"""torch.distributions beside torch's: densities, entropies, divergences, their gradients; draws by their moments."""

import numpy as np
import pytest
import torch

import mytorch

RNG = np.random.default_rng(0)
WIDE = RNG.uniform(0.3, 2.0, (2, 3))
PLACE = RNG.normal(size=(2, 3))
SHARE = RNG.uniform(0.1, 0.9, (2, 3))
LOWER = np.tril(RNG.uniform(0.5, 1.5, (3, 3)))

# name → (parameters, values in its support)
CASES = {
    "Normal": ({"loc": PLACE, "scale": WIDE}, PLACE + 0.3),
    "LogNormal": ({"loc": PLACE, "scale": WIDE}, WIDE),
    "HalfNormal": ({"scale": WIDE}, WIDE + 0.1),
    "Laplace": ({"loc": PLACE, "scale": WIDE}, PLACE - 0.2),
    "Cauchy": ({"loc": PLACE, "scale": WIDE}, PLACE - 0.2),
    "Gumbel": ({"loc": PLACE, "scale": WIDE}, PLACE + 0.2),
    "Uniform": ({"low": PLACE, "high": PLACE + WIDE}, PLACE + WIDE / 2),
    "Exponential": ({"rate": WIDE}, WIDE),
    "Bernoulli": ({"probs": SHARE}, (SHARE > 0.5) * 1.0),
    "Bernoulli by logits": ({"logits": PLACE}, (SHARE > 0.5) * 1.0),
    "Geometric": ({"probs": SHARE}, np.floor(WIDE * 3)),
    "Categorical": ({"probs": SHARE}, np.array([0.0, 2.0])),
    "Categorical by logits": ({"logits": PLACE}, np.array([1.0, 2.0])),
    "OneHotCategorical": ({"logits": PLACE}, np.eye(3)[[0, 2]]),
    "Poisson": ({"rate": WIDE}, np.floor(WIDE * 3)),
    "Gamma": ({"concentration": WIDE, "rate": WIDE + 1}, WIDE),
    "Beta": ({"concentration1": WIDE, "concentration0": WIDE + 1}, SHARE),
    "Dirichlet": ({"concentration": WIDE}, SHARE / SHARE.sum(1, keepdims=True)),
    "StudentT": ({"df": WIDE + 2, "loc": PLACE, "scale": WIDE}, PLACE + 0.4),
    "Binomial": ({"total_count": np.full((2, 3), 4.0), "probs": SHARE}, np.floor(WIDE)),
    "NegativeBinomial": ({"total_count": WIDE * 3, "probs": SHARE}, np.floor(WIDE * 3)),
    "HalfCauchy": ({"scale": WIDE}, WIDE + 0.1),
    "Pareto": ({"scale": WIDE, "alpha": WIDE + 2.5}, WIDE + 0.5),
    "Weibull": ({"scale": WIDE, "concentration": WIDE + 1}, WIDE),
    "MultivariateNormal": ({"loc": PLACE, "scale_tril": LOWER}, PLACE + 0.2),
    "MultivariateNormal by covariance": ({"loc": PLACE, "covariance_matrix": LOWER @ LOWER.T}, PLACE + 0.2),
}


def made(lib, name, parameters, shift=0.0):
    leaves = {key: lib.from_numpy(value + shift).requires_grad_() for key, value in parameters.items()}
    return getattr(lib.distributions, name.split()[0])(**leaves), leaves


def close(a, b):
    assert tuple(a.shape) == tuple(b.shape)
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("name", CASES)
def test_densities_and_their_gradients(name):
    parameters, values = CASES[name]
    (ours, our_leaves), (theirs, their_leaves) = made(mytorch, name, parameters), made(torch, name, parameters)
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    a, b = ours.log_prob(mytorch.from_numpy(values)), theirs.log_prob(torch.from_numpy(values))
    close(a, b)
    a.sum().backward()
    b.sum().backward()
    for key, leaf in our_leaves.items():
        if their_leaves[key].grad is not None:
            close(leaf.grad, their_leaves[key].grad)
    for what in ("mean", "variance", "stddev"):
        try:
            expected = getattr(theirs, what)
        except NotImplementedError:
            continue
        if name != "StudentT" or what == "mean":
            np.testing.assert_allclose(getattr(ours, what).detach().numpy(), expected.detach().numpy(), rtol=1e-7)
    if name.split()[0] not in ("Poisson", "StudentT", "Binomial", "NegativeBinomial"):
        close(ours.entropy(), theirs.entropy())


DIVERGENCES = sorted(
    set(CASES)
    - {"HalfNormal", "Cauchy", "Gumbel", "StudentT", "Binomial", "MultivariateNormal by covariance"}
    - {"HalfCauchy", "NegativeBinomial", "Pareto", "Weibull"}
)


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences(name):
    parameters, _ = CASES[name]
    other = {key: np.minimum(value * 1.1, 0.95) if key == "probs" else value * 1.1 for key, value in parameters.items()}
    if name == "Uniform":
        other = {"low": PLACE - 0.1, "high": PLACE + WIDE + 0.1}
    found = []
    for lib in (mytorch, torch):
        p, leaves = made(lib, name, parameters)
        q, _ = made(lib, name, other)
        divergence = lib.distributions.kl_divergence(p, q)
        divergence.sum().backward()
        found.append((divergence, [leaf.grad for leaf in leaves.values()]))
    close(found[0][0], found[1][0])
    for a, b in zip(found[0][1], found[1][1]):
        close(a, b)


@pytest.mark.parametrize("name", [name for name in CASES if "Cauchy" not in name])
def test_draws_have_the_right_shape_and_moments(name):
    parameters, _ = CASES[name]
    ours, leaves = made(mytorch, name, parameters)
    drawn = ours.sample((4000,))
    assert not drawn.requires_grad
    assert drawn.shape == (4000, *ours.batch_shape, *ours.event_shape)
    if name.split()[0] not in ("Categorical", "StudentT"):
        error = (drawn.numpy().mean(0) - ours.mean.detach().numpy()) / (ours.stddev.detach().numpy() / 4000**0.5)
        assert np.abs(error).max() < 6
    else:
        counts = (drawn.numpy()[..., None] == np.arange(3)).mean(0)
        if name.startswith("Categorical"):
            np.testing.assert_allclose(counts, ours.probs.detach().numpy(), atol=0.05)
    if ours.has_rsample:
        ours.rsample().sum().backward()
        assert all(leaf.grad is not None for leaf in leaves.values())


def test_multinomial_counts():
    values = np.array([[2.0, 1.0, 1.0], [0.0, 4.0, 0.0]])
    for settings in ({"probs": SHARE}, {"logits": PLACE}):
        pair = []
        for lib in (mytorch, torch):
            parameters = {key: lib.from_numpy(value).requires_grad_() for key, value in settings.items()}
            d = lib.distributions.Multinomial(4, **parameters)
            density = d.log_prob(lib.from_numpy(values))
            density.sum().backward()
            pair.append((density, d.mean, d.variance, *(leaf.grad for leaf in parameters.values())))
            drawn = d.sample((50,))
            assert drawn.shape == (50, 2, 3)
            assert (drawn.sum(-1) == 4).all()
        for a, b in zip(*pair):
            close(a, b)


def test_what_is_not_there_can_be_imported_and_says_so_when_made():
    assert not hasattr(mytorch.distributions, "no_such_thing")
    with pytest.raises(NotImplementedError, match="LKJCholesky"):
        mytorch.distributions.LKJCholesky(3)


def test_constraints_of_matrices():
    good, bad = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, 2.0], [2.0, 1.0]])
    for name in ("positive_definite", "positive_semidefinite", "symmetric", "lower_triangular", "lower_cholesky"):
        for matrix in (good, bad, np.tril(good)):
            answers = [
                getattr(lib.distributions.constraints, name).check(lib.from_numpy(matrix)) for lib in (mytorch, torch)
            ]
            assert bool(answers[0]) == bool(answers[1]), (name, matrix)


def test_independent_and_the_standard_normal_prior():
    for lib in (mytorch, torch):
        base = lib.distributions.Normal(lib.zeros(4, 3), lib.ones(4, 3))
        both = lib.distributions.Independent(base, 1)
        assert (tuple(both.batch_shape), tuple(both.event_shape)) == ((4,), (3,))
        assert both.log_prob(lib.zeros(4, 3)).shape == (4,)
        assert both.rsample((2,)).shape == (2, 4, 3)
        assert lib.distributions.kl_divergence(both, both).tolist() == [0.0] * 4
        assert "Independent(Normal(loc" in repr(both)
        assert repr(lib.distributions.Normal(0.0, 1.0)) == "Normal(loc: 0.0, scale: 1.0)"
        assert lib.distributions.Normal(0, 1).expand((2, 2)).log_prob(lib.zeros(2, 2)).shape == (2, 2)
        assert lib.distributions.Categorical(lib.ones(3)).enumerate_support().tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", [name for name in CASES if "Multinomial" not in name])
def test_modes(name):
    ours, theirs = (made(lib, name, CASES[name][0])[0].mode for lib in (mytorch, torch))
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)


def test_modes_at_the_edges():
    for lib in (mytorch, torch):
        d = lib.distributions
        assert d.Bernoulli(lib.tensor([0.2, 0.5, 0.7])).mode.isnan().tolist() == [False, True, False]
        assert d.Dirichlet(lib.tensor([[0.5, 0.2], [3.0, 1.0]])).mode.tolist() == [[1.0, 0.0], [1.0, 0.0]]
        assert d.Binomial(3, lib.tensor([1.0])).mode.tolist() == [3.0]
        with pytest.raises(NotImplementedError, match="does not implement mode"):
            d.Multinomial(2, lib.ones(3)).mode  # noqa: B018


def test_divergences_between_two_families():
    for p, q in (("Uniform", "Normal"), ("Normal", "Uniform"), ("Normal", "LogNormal"), ("LogNormal", "Normal")):
        if "LogNormal" in (p, q):
            for lib in (mytorch, torch):
                with pytest.raises(NotImplementedError, match="No KL"):
                    lib.distributions.kl_divergence(made(lib, p, CASES[p][0])[0], made(lib, q, CASES[q][0])[0])
            continue
        ours, theirs = (
            lib.distributions.kl_divergence(made(lib, p, CASES[p][0])[0], made(lib, q, CASES[q][0])[0])
            for lib in (mytorch, torch)
        )
        close(ours, theirs)


def test_wrong_parameters_and_values_are_named():
    for lib in (mytorch, torch):
        d = lib.distributions
        with pytest.raises(ValueError, match="Expected parameter scale"):
            d.Normal(0.0, -1.0)
        with pytest.raises(ValueError, match="Expected parameter probs"):
            d.Bernoulli(lib.tensor([1.5]))
        with pytest.raises(ValueError, match="within the support"):
            d.Bernoulli(0.5).log_prob(lib.tensor(0.5))
        with pytest.raises(ValueError, match="but not both"):
            d.Categorical()
        with pytest.raises(NotImplementedError):
            d.kl_divergence(d.Normal(0.0, 1.0), d.Bernoulli(0.5))
        d.Normal(0.0, -1.0, validate_args=False)


def test_transformed_mixed_and_relaxed():
    rows = []
    for lib in (mytorch, torch):
        d = lib.distributions
        loc, scale = (lib.from_numpy(x).requires_grad_() for x in (PLACE, WIDE))
        value, share = lib.from_numpy(SHARE), lib.from_numpy(SHARE / SHARE.sum(1, keepdims=True))
        made = [
            (d.TransformedDistribution(d.Normal(loc, scale), d.TanhTransform()), value),
            (
                d.TransformedDistribution(d.Normal(loc, scale), [d.AffineTransform(0.2, 1.5), d.SigmoidTransform()]),
                value,
            ),
            (d.TransformedDistribution(d.Independent(d.Normal(loc, scale), 1), d.ExpTransform()), value),
            (
                d.TransformedDistribution(
                    d.Normal(loc, scale), d.ComposeTransform([d.TanhTransform(), d.AffineTransform(0.0, 2.0)])
                ),
                value,
            ),
            (d.MixtureSameFamily(d.Categorical(lib.from_numpy(SHARE)), d.Normal(loc, scale)), value[:, 0]),
            (
                d.MixtureSameFamily(
                    d.Categorical(lib.from_numpy(SHARE[0, :2])), d.Independent(d.Normal(loc, scale), 1)
                ),
                value[0],
            ),
            (d.RelaxedOneHotCategorical(lib.tensor(0.7).double(), logits=loc), share),
            (d.RelaxedBernoulli(lib.tensor(0.7).double(), logits=loc), value),
        ]
        found = []
        for distribution, at in made:
            density = distribution.log_prob(at)
            density.sum().backward()
            found += [density, loc.grad.clone()]
            drawn = distribution.sample((3,))
            assert drawn.shape == (3, *distribution.batch_shape, *distribution.event_shape)
            assert distribution.log_prob(drawn).isfinite().all()
            if distribution.has_rsample:
                assert distribution.rsample().requires_grad
        found += [made[4][0].mean, made[4][0].variance, made[5][0].mean, made[5][0].variance]
        rows.append(found)
    for a, b in zip(*rows):
        close(a, b)

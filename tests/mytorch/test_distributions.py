"""torch.distributions beside torch's: densities, entropies, divergences, their gradients; draws by their moments."""

import operator
from typing import Any

import numpy as np
import pytest
import torch

import mytorch
from mytorch.compat import torch_module
from mytorch.distributions.gamma_draws import slope

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
        np.testing.assert_allclose(getattr(ours, what).detach().numpy(), expected.detach().numpy(), rtol=1e-7)
    if name.split()[0] not in ("Poisson", "NegativeBinomial"):
        close(ours.entropy(), theirs.entropy())


DIVERGENCES = sorted(set(CASES) - {"StudentT", "MultivariateNormal by covariance", "NegativeBinomial", "Weibull"})


@pytest.mark.parametrize("name", DIVERGENCES)
def test_divergences(name):
    parameters, _ = CASES[name]
    other = {key: np.minimum(value * 1.1, 0.95) if key == "probs" else value * 1.1 for key, value in parameters.items()}
    if name == "Uniform":
        other = {"low": PLACE - 0.1, "high": PLACE + WIDE + 0.1}
    if name == "Binomial":
        other["total_count"] = parameters["total_count"]
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


def test_a_draw_of_gamma_moves_with_its_concentration():
    a = np.repeat([0.01, 0.3, 1.0, 2.5, 10.0, 100.0, 3000.0, 2e5], 200)
    z = np.maximum(np.random.default_rng(0).standard_gamma(a), 1e-300)
    theirs = torch._standard_gamma_grad(torch.from_numpy(a), torch.from_numpy(z)).numpy()
    np.testing.assert_allclose(slope(a, z), theirs, rtol=3e-3)  # torch approximates


def test_the_means_of_draws_have_the_gradients_of_the_means():
    """The gradient of many draws' mean is near that of the distribution's mean."""
    for name, place in (("Beta", (2.0, 3.0)), ("Dirichlet", ([1.0, 2.0, 4.0],)), ("Gamma", (0.7, 2.0))):
        mytorch.manual_seed(0)
        leaves = [mytorch.tensor(value, requires_grad=True) for value in place]
        made = getattr(mytorch.distributions, name)(*leaves)
        wanted = mytorch.autograd.grad(made.mean.reshape(-1)[0], leaves)
        drawn = made.rsample((20000,)).mean(0).reshape(-1)[0]
        for a, b in zip(mytorch.autograd.grad(drawn, leaves), wanted):
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=0.01)


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
        one_hot = lib.distributions.OneHotCategorical(lib.ones(2, 3))
        assert one_hot.enumerate_support()[1].tolist() == [[0, 1, 0]] * 2
        assert one_hot.enumerate_support(False).shape == (3, 1, 3)
        with pytest.raises(ValueError, match="Value is not broadcastable with"):
            base.log_prob(lib.zeros(2, 3))


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


FAMILIES = {
    **{name: CASES[name][0] for name in ("Normal", "Laplace", "Gumbel", "Exponential", "Gamma", "Beta", "Poisson")},
    "Pareto": {"scale": WIDE / 2, "alpha": WIDE},
    "Bernoulli": {"probs": SHARE},
    "Binomial": CASES["Binomial"][0],
    "LogNormal": CASES["LogNormal"][0],
    "Uniform": {"low": SHARE / 3, "high": SHARE},
    "Uniform wide": {"low": PLACE, "high": PLACE + 2},
    "Uniform inside": {"low": WIDE, "high": WIDE + 2},
}


@pytest.mark.parametrize("name", FAMILIES)
def test_divergences_between_two_families(name):
    """Each family against all of them: the number, infinity or a refusal, as torch has it."""
    for other in FAMILIES:
        answers: list[Any] = []
        for lib in (mytorch, torch):
            p, leaves = made(lib, name, FAMILIES[name])
            try:
                divergence = lib.distributions.kl_divergence(p, made(lib, other, FAMILIES[other])[0])
            except NotImplementedError:
                answers.append(None)
            else:
                finite = divergence[divergence.isfinite()]
                if divergence.requires_grad and len(finite) == 6:
                    divergence.sum().backward()
                answers.append([divergence, *(leaf.grad for leaf in leaves.values() if len(finite) == 6)])
        assert (answers[0] is None) == (answers[1] is None), other
        for a, b in zip(*answers) if answers[0] else ():
            if b is not None:
                np.testing.assert_allclose(a.detach(), b.detach(), rtol=1e-6, atol=1e-8, err_msg=other)


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


EXPANDED = {
    **{name: name for name in CASES if name != "MultivariateNormal by covariance"},
    "Chi2": lambda lib, loc, scale, share: lib.distributions.Chi2(scale),
    "Multinomial": lambda lib, loc, scale, share: lib.distributions.Multinomial(3, share),
    "RelaxedBernoulli": lambda lib, loc, scale, share: lib.distributions.RelaxedBernoulli(lib.tensor(0.5), share),
    "Relaxed": lambda lib, loc, scale, share: lib.distributions.RelaxedOneHotCategorical(lib.tensor(0.5), share),
    "Independent": lambda lib, loc, scale, share: lib.distributions.Independent(
        lib.distributions.Normal(loc, scale), 1
    ),
    "TransformedDistribution": lambda lib, loc, scale, share: lib.distributions.TransformedDistribution(
        lib.distributions.Normal(loc, scale), [lib.distributions.ExpTransform()]
    ),
    "of vectors": lambda lib, loc, scale, share: lib.distributions.TransformedDistribution(
        lib.distributions.Normal(loc, scale), lib.distributions.StickBreakingTransform()
    ),
    "MixtureSameFamily": lambda lib, loc, scale, share: lib.distributions.MixtureSameFamily(
        lib.distributions.Categorical(share), lib.distributions.Normal(loc, scale)
    ),
}


@pytest.mark.parametrize("name", EXPANDED)
def test_expanded_distributions(name):
    make: Any = EXPANDED[name]
    found: list[tuple] = []
    for lib in (mytorch, torch):
        if isinstance(make, str):
            d = made(lib, make, CASES[make][0])[0]
        else:
            d = make(lib, *map(lib.from_numpy, (PLACE, WIDE, SHARE)))
        wide = d.expand((4, *d.batch_shape))
        value = found[0][0] if found else d.sample().numpy()
        shapes = tuple(wide.batch_shape), tuple(wide.event_shape), tuple(wide.sample((5,)).shape)
        found.append((value, shapes, wide.log_prob(lib.from_numpy(value))))
    assert found[0][1] == found[1][1]
    close(found[0][2], found[1][2])


CUMULATIVE = ["Normal", "LogNormal", "HalfNormal", "Laplace", "Cauchy", "Gumbel", "Uniform", "Exponential"]


@pytest.mark.parametrize("name", [*CUMULATIVE, "HalfCauchy", "Pareto", "Weibull", "Gamma"])
def test_cdf_and_its_inverse(name):
    parameters, values = CASES[name]
    ours, theirs = (
        getattr(lib.distributions, name)(**{key: lib.from_numpy(value) for key, value in parameters.items()})
        for lib in (mytorch, torch)
    )
    close(ours.cdf(mytorch.from_numpy(values)), theirs.cdf(torch.from_numpy(values)))
    if name != "Gamma":
        close(ours.icdf(mytorch.from_numpy(SHARE)), theirs.icdf(torch.from_numpy(SHARE)))


def test_entropy_of_counts_and_cdf_of_what_is_made_of_others():
    rows = []
    for lib in (mytorch, torch):
        d, x = lib.distributions, lib.from_numpy(SHARE)
        base = d.Normal(lib.from_numpy(PLACE), lib.from_numpy(WIDE))
        falling = d.TransformedDistribution(base, [d.AffineTransform(1.0, -2.0), d.SigmoidTransform()])
        mixed = d.MixtureSameFamily(d.Categorical(x), base)
        rows.append([falling.cdf(x), falling.icdf(x), mixed.cdf(x[:, 0]), d.Multinomial(4, x).entropy()])
    for a, b in zip(*rows):
        close(a, b)


TRANSFORMS = {
    "AbsTransform": ((), PLACE), "ExpTransform": ((), PLACE), "SigmoidTransform": ((), PLACE),
    "SoftplusTransform": ((), PLACE), "TanhTransform": ((), PLACE), "SoftmaxTransform": ((), PLACE),
    "PowerTransform": ((-1.5,), WIDE), "AffineTransform": ((0.5, -2.0, 1), PLACE),
    "StickBreakingTransform": ((), PLACE), "ReshapeTransform": (((2, 3), (6,)), PLACE),
    "LowerCholeskyTransform": ((), LOWER),
    "PositiveDefiniteTransform": ((), LOWER),
}  # fmt: skip


@pytest.mark.parametrize("cache", [0, 1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name, cache):
    args, values = TRANSFORMS[name]
    rows = []
    for lib in (mytorch, torch):
        t = getattr(lib.distributions.transforms, name)(*args, cache_size=cache)
        x = lib.from_numpy(values)
        y = t(x)
        assert not cache or t.inv(y) is x
        assert t.inv.inv is t
        assert t == t.with_cache(1 - cache) or name == "ReshapeTransform"
        rows.append([y, t.inv(y + 0), t.inv.inv(x)])
        assert isinstance(t, lib.distributions.Transform)
        rows[-1].append((t.bijective, t.domain.event_dim, t.codomain.event_dim, repr(t), repr(t.inv)))
        rows[-1].append((tuple(t.forward_shape(x.shape)), tuple(t.inv.forward_shape(y.shape)), repr(t.codomain)))
        if t.bijective:
            rows[-1].append(t.log_abs_det_jacobian(x, y))
            rows[-1].append(t.inv.log_abs_det_jacobian(y, x))
        two = lib.distributions.IndependentTransform(t, 0)
        rows[-1].append(lib.distributions.ComposeTransform([two, t.inv])(x))
    for a, b in zip(*rows):
        if isinstance(a, tuple):
            assert a == b
        else:
            close(a, b)


def test_flows_of_ones_own():
    """A planar flow, which has no inverse in closed form: with a cache the density of its own draws is known."""
    rows = []
    for lib in (mytorch, torch):

        class Planar(lib.distributions.Transform, lib.nn.Module):  # type: ignore[name-defined]
            bijective = True
            domain = codomain = lib.distributions.constraints.real_vector

            def __init__(self, w, u, lib=lib):
                super().__init__(cache_size=1)
                self.w, self.u = lib.nn.Parameter(w), lib.nn.Parameter(u)

            def _call(self, x):
                return x + self.u * (x @ self.w).tanh().unsqueeze(-1)

            def log_abs_det_jacobian(self, x, y):
                return (1 + (1 - (x @ self.w).tanh() ** 2) * (self.w @ self.u)).abs().log()

        d = lib.distributions
        flow = Planar(lib.from_numpy(PLACE[0]), lib.from_numpy(WIDE[0]))
        made = d.TransformedDistribution(d.Normal(lib.zeros(3).double(), lib.ones(3).double()), [flow])
        assert (tuple(made.batch_shape), tuple(made.event_shape)) == ((), (3,))
        x = lib.from_numpy(PLACE)
        density = made.log_prob(flow(x))
        density.sum().backward()
        assert made.log_prob(made.rsample((2,))).shape == (2,)
        rows.append([density, flow.w.grad, flow.u.grad])
    for a, b in zip(*rows):
        close(a, b)


def test_biject_to_and_transform_to():
    assert torch_module("torch.distributions.constraint_registry").biject_to is mytorch.distributions.biject_to
    rules = ["real", "positive", "nonnegative", "unit_interval", "real_vector"]
    rules += ["simplex", "lower_cholesky", "positive_definite"]
    made: dict[str, Any] = {
        **{name: operator.attrgetter(name) for name in rules},
        "interval": lambda c: c.interval(-1.0, 3.0),
        "greater": lambda c: c.greater_than(2.0),
        "less": lambda c: c.less_than(2.0),
        "independent": lambda c: c.independent(c.half_open_interval(0.0, 2.0), 1),
    }
    for name, rule in made.items():
        for registry in ("biject_to", "transform_to"):
            rows = []
            for lib in (mytorch, torch):
                constraint = rule(lib.distributions.constraints)
                if registry == "biject_to" and name in ("lower_cholesky", "positive_definite"):
                    with pytest.raises(NotImplementedError, match="Cannot transform"):
                        lib.distributions.biject_to(constraint)
                    continue
                transform = getattr(lib.distributions, registry)(constraint)
                y = transform(lib.from_numpy(LOWER))
                assert constraint.check(y).all(), name
                rows.append((y, transform.inv(y), repr(constraint)))
            for a, b in zip(*rows):
                assert a == b if isinstance(a, str) else close(a, b) is None
    for lib in (mytorch, torch):

        class Even(lib.distributions.constraints.Constraint):  # type: ignore[name-defined]
            def check(self, value):
                return value % 2 == 0

        with pytest.raises(NotImplementedError, match="Cannot transform Even constraints"):
            lib.distributions.biject_to(Even())
        lib.distributions.biject_to.register(Even)(lambda rule: lib.distributions.AffineTransform(0, 2))  # noqa: B023
        assert lib.distributions.biject_to(Even())(lib.tensor([3.0])).tolist() == [6.0]

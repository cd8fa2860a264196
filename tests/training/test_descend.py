"""gc.descend takes the steps of the books, trains, and says so when it diverges; gc.flat fits."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

import graphc as gc

BOWL = "param w1 w2\nJ = w1**2 + 4*w2**2"
LINE = "input x y\nparam w b\ne = w*x + b - y\nL = e**2"
ROWS = "input X[n,2] y[n]\nparam w[2]\nL = mean((X @ w - y)**2)"


def steps(text, start, count, **settings):
    """The iterates after 1 ... count steps, as rows."""
    run = gc.descend(gc.parse(text), params=start, steps=count, record=True, **settings)
    return np.array([list(point.values()) for point in run.iterates[1:]])


# The iterates of the books (Aggarwal 2.6 and 4.5, Prince 6.4, Geiger 6.2), to the printed digits.


@pytest.mark.parametrize(
    ("start", "lr", "expected"),
    [
        (
            0.5,
            0.01,
            {
                1: (0.49, 0.4998046875),
                2: (0.4802, 0.499610060573601522),
                10: (0.40853640344377344512, 0.498077190699239963),
                100: (0.0663097779473765937, 0.483267708652847332),
                1000: (8.41483678607977817e-10, 0.418802441581106647),
            },
        ),
        (2, 0.01, {1: (1.96, -49.2), 2: (1.9208, 168921887268522.0995)}),
        (
            2,
            0.0001,
            {
                1: (1.9996, 1.488),
                10: (1.99600359808067184, 1.30546594779730625),
                1000: (1.63742875288619896, 0.770413760317868239),
            },
        ),
    ],
)
def test_steepest_descent_on_a_valley_with_a_tenth_power(start, lr, expected):
    found = steps("input x y\nL = x**2 + y**10", {"x": start, "y": start}, max(expected), lr=lr)
    for step, point in expected.items():
        assert found[step - 1] == pytest.approx(point, rel=1e-12)


METHODS = {
    "momentum": ({}, [(0.8, 0.2), (0.46, -0.68), (0.062, -0.928)]),
    "nesterov": ({}, [(0.8, 0.2), (0.496, -0.104), (0.17792, -0.07552)]),
    "adagrad": ({"lr": 0.5}, [0.5, 0.276393202250021030359, 0.156398736024212011810]),
    "rmsprop": ({}, [0.683772233983162066800, 0.498870606896870304931, 0.369180553155325157853]),
    "adam": ({}, [0.9, 0.800412227671246888675, 0.701586271387644859011]),
}


@pytest.mark.parametrize("method", METHODS)
def test_the_methods_of_the_books(method):
    settings, expected = METHODS[method]
    found = steps(BOWL, {"w1": 1, "w2": 1}, 3, method=method, **{"eps": 0, **settings})
    assert found == pytest.approx(
        np.array([np.broadcast_to(point, 2) for point in expected]), rel=1e-11
    )


def test_momentum_as_an_average():
    settings = {"momentum_average": True, "lr": 0.1}
    found = steps(BOWL, {"w1": 1, "w2": 1}, 3, method="momentum", **settings)
    assert found == pytest.approx(np.array([(0.98, 0.92), (0.9424, 0.7744), (0.889712, 0.581408)]))
    found = steps(BOWL, {"w1": 1, "w2": 1}, 3, method="nesterov", **settings)
    assert found == pytest.approx(
        np.array([(0.98, 0.92), (0.94276, 0.78016), (0.89105912, 0.60195968)])
    )


def test_eps_inside_the_root():
    found = steps(BOWL, {"w1": 1, "w2": 1}, 3, method="adam", beta2=0.99, eps_inside=True)
    expected = [
        (0.900000000124999999766, 0.900000000007812499999),
        (0.800388566816149903774, 0.800388566570557040880),
        (0.701497167663388246155, 0.701497167277775300606),
    ]
    assert found == pytest.approx(np.array(expected), rel=1e-14)
    outside = steps(BOWL, {"w1": 1, "w2": 1}, 3, method="adam", beta2=0.99)
    assert np.abs(outside - found).max() > 1e-11  # the convention is visible in the digits


def test_one_newton_step_ends_in_the_bowl():
    assert steps(BOWL, {"w1": 1, "w2": 1}, 1, method="newton", lr=1) == pytest.approx(0, abs=1e-15)
    saddle = "param x y\ng = x**2 - y**2"
    assert steps(saddle, {"x": 3, "y": 2}, 1, method="newton", lr=1) == pytest.approx(0, abs=1e-15)


def test_newton_over_points_and_tensors():
    x, y = np.arange(4.0), np.array([1.0, 3.0, 5.0, 8.0])
    slope, offset = np.polyfit(x, y, 1)
    for reduce in ("mean", "sum"):
        run = gc.descend(
            gc.parse(LINE),
            "L",
            data={"x": x, "y": y},
            params={"w": 0, "b": 0},
            method="newton",
            lr=1,
            steps=1,
            reduce=reduce,
        )
        assert run.params == pytest.approx({"w": slope, "b": offset})
    X = np.stack([x, np.ones(4)], axis=1)
    run = gc.descend(
        gc.parse(ROWS), data={"X": X, "y": y}, params={"w": [0, 0]}, method="newton", lr=1, steps=1
    )
    assert run.params["w"] == pytest.approx([slope, offset])


def test_a_singular_hessian_is_told():
    run = gc.descend(gc.parse("param x\nL = x**3"), params={"x": 0}, method="newton", lr=1)
    assert not run.ok
    assert run.message.startswith("stopped at step 1: the Hessian is singular")
    assert run.params == {"x": 0}


# Rates, penalties, points.


@pytest.mark.parametrize(
    ("decay", "rates"),
    [
        (None, [0.1, 0.1, 0.1]),
        (("exponential", 0.5), [0.1, 0.1 * np.exp(-0.5), 0.1 * np.exp(-1)]),
        (("inverse", 1), [0.1, 0.05, 0.1 / 3]),
        (("step", 0.1, 2), [0.1, 0.1, 0.01]),
        ("inverse", [0.1, 0.1 / 1.01, 0.1 / 1.02]),
        (lambda step: 2.0**-step, [0.1, 0.05, 0.025]),
    ],
)
def test_the_rate_decays(decay, rates):
    found = steps("param w\nL = w", {"w": 0}, 3, lr=0.1, decay=decay)
    assert -np.diff([0, *found[:, 0]]) == pytest.approx(rates)


def test_weight_decay_shrinks():
    at = {"lr": 0.1, "weight_decay": 0.2}
    text = "input c[2]\nparam w[2]\nL = sum(w*c)"  # Aggarwal 2.6.4: a gradient of (-2, -4)
    for decoupled in (False, True):
        run = gc.descend(
            gc.parse(text),
            data={"c": [-2, -4]},
            params={"w": ["1/2", "1/4"]},
            steps=1,
            decoupled=decoupled,
            **at,
        )
        assert run.params["w"] == pytest.approx([0.69, 0.645])
    only_b = steps("param w b\nL = 0*w + 0*b", {"w": 1, "b": 1}, 1, lr=1, weight_decay={"b": 0.5})
    assert only_b.tolist() == [[1, 0.5]]
    plain, shrunk = (
        steps(BOWL, {"w1": 1, "w2": 1}, 2, method="adam", weight_decay=0.5, decoupled=flag)
        for flag in (False, True)
    )
    assert not np.allclose(plain, shrunk)


def test_a_step_sums_or_averages_over_points():
    data = {"x": np.array([1.0, 2.0, 3.0]), "y": np.array([1.0, 1.0, 2.0])}
    graph = gc.parse(LINE)
    slopes = graph.reverse("L", {**data, "w": 0.5, "b": 0.0})
    for reduce, combine in (("mean", np.mean), ("sum", np.sum)):
        run = gc.descend(graph, "L", data, {"w": 0.5, "b": 0}, lr=0.25, steps=1, reduce=reduce)
        assert run.params["w"] == pytest.approx(0.5 - 0.25 * combine(slopes["w"]))
        assert run.params["b"] == pytest.approx(-0.25 * combine(slopes["b"]))
        assert run.history == pytest.approx(
            [combine(graph.values({**data, "w": 0.5, "b": 0})["L"])]
        )


@pytest.mark.parametrize("text", ["input x\nparam w\nL = x*w", "input x[n]\nparam w\nL = sum(x)*w"])
def test_every_point_once_per_round(text):
    """With a loss that is linear in its points, the change over a round tells what was drawn."""
    points = np.arange(10.0)
    graph = gc.parse(text)
    settings = {"lr": 1, "batch": 3, "reduce": "sum", "record": True}
    runs = [
        gc.descend(graph, data={"x": points}, params={"w": 0}, steps=8, rng=rng, **settings)
        for rng in (1, 1, 2)
    ]
    path = [[point["w"] for point in run.iterates] for run in runs]
    assert path[0] == path[1] != path[2]  # a seed decides the order
    assert path[0][4] == path[2][4] == -45  # four batches are a round: 3 + 3 + 3 + 1 points
    assert path[0][8] == -90
    assert path[0][5] != path[0][1] - 45  # a new order each round


def test_a_param_in_data_is_held_and_an_input_in_params_is_trained():
    graph = gc.parse("input x = 3\nparam a = 2\nparam b = 1\nL = (a*x - 12)**2 + b**2")
    run = gc.descend(graph, data={"a": 4}, params={"x": 1}, lr=0.01, steps=500)
    assert run.params == pytest.approx({"x": 3, "b": 0}, abs=1e-4)
    assert list(gc.descend(graph, steps=0).params.items()) == [("a", 2.0), ("b", 1.0)]


def test_params_that_are_not_reached_stay():
    run = gc.descend(gc.parse("param w v\nu = 2*v\nL = w**2\noutput L"), params={"w": 1, "v": 7})
    assert run.params["v"] == 7


# What a run tells.


def test_a_run_tells_what_happened():
    run = gc.descend(gc.parse(BOWL), params={"w1": 1, "w2": 1}, steps=3)
    assert run.ok
    assert run.message == "3 steps of sgd: J went from 5 to 0.2624"
    assert run.history == pytest.approx([5, 0.8, 0.416])
    assert run.loss == pytest.approx(0.2624)
    assert run.iterates[0] == {"w1": 1, "w2": 1}
    assert run.iterates[-1] == run.params
    assert "history" not in repr(run)


def test_divergence_is_told():
    valley = gc.parse("input x y\nL = x**2 + y**10")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = gc.descend(valley, params={"x": 2, "y": 2}, lr=0.01)
    assert not run.ok
    assert run.message == (
        "diverged at step 4: L or its gradient is not finite (L was 1028 at the start); "
        "use a smaller lr than 0.01"
    )
    assert np.isfinite(list(run.params.values())).all()
    assert len(run.history) == 4
    run = gc.descend(valley, params={"x": 2, "y": 2}, lr=0.01, steps=1)
    assert not run.ok
    assert "grew from 1028 to 8.31096e+16 in 1 step;" in run.message


def test_a_start_without_a_loss_is_told():
    for formula in ("log(w)", "sqrt(w)"):  # no loss, or no slope
        run = gc.descend(gc.parse(f"param w\nL = {formula}"), params={"w": 0})
        assert not run.ok
        assert "not finite at the starting parameters" in run.message


def test_a_callback_sees_each_step_and_may_end_the_run():
    seen = []

    def watch(step, loss, params):
        seen.append((step, loss, params["w1"]))
        return loss < 1

    run = gc.descend(gc.parse(BOWL), params={"w1": 1, "w2": 1}, callback=watch, record=False)
    assert [step for step, *_ in seen] == [1, 2]
    assert [loss for _, loss, _ in seen] == run.history
    assert run.ok
    assert run.iterates is None


def test_a_bar_is_drawn_only_when_asked(capfd):
    gc.descend(gc.parse(BOWL), params={"w1": 1, "w2": 1})
    assert capfd.readouterr() == ("", "")
    gc.descend(gc.parse(BOWL), params={"w1": 1, "w2": 1}, progress=True)
    assert "100/100" in capfd.readouterr().err


MISTAKES = [
    ({"method": "adm"}, "did you mean 'adam'"),
    ({"lr": 0}, "lr=0 must be a positive number"),
    ({"steps": 1.5}, "steps=1.5 must be a whole number"),
    ({"batch": 0}, "batch=0 must be a whole number of at least 1"),
    ({"batch": 2, "data": {"x": 1, "y": 2}}, "batch= needs data with several points"),
    ({"momentum": 1}, "momentum=1 must be at least 0 and below 1"),
    ({"eps": -1}, "eps=-1 must not be negative"),
    ({"decay": "expnential"}, "did you mean 'exponential'"),
    ({"decay": ("step", 0.5, 0)}, "the numbers must be positive"),
    ({"decay": ("inverse", 1, 2)}, "takes at most 1 numbers"),
    ({"weight_decay": {"c": 1}}, "'c' is not trained"),
    ({"weight_decay": -1}, "must not be negative"),
    ({"reduce": "max"}, "reduce='max' is not known; use one of mean, sum"),
    ({"params": {"w": 1}}, "starting values are missing for b"),
    ({"params": {"w": 1, "b": 1, "bias": 2}}, "there is no input or param 'bias'"),
    ({"data": {"x": 1}}, "data is missing for y"),
    ({"data": {"x": 1, "y": 1, "w": 2}}, "w cannot be in params and in data"),
    ({"of": "M"}, "'M'"),
    ({"lr": "0.1"}, "lr='0.1' must be a number"),
    ({"rng": "a"}, "rng='a' must be a whole number"),
    ({"decay": 5}, "decay=5 is not known"),
    ({"data": 5}, "data= takes a dict"),
    ({"data": {5: 1}}, "there is no input or param '5'"),
    ({"params": {"w": [0, 1], "b": 0}}, "'w' is a scalar, so it starts at one number"),
    ({"data": {"x": [1, 2, 3], "y": [1, 2]}}, "'y' has shape (2,), which does not broadcast"),
    ({"data": {"x": [1, float("nan")], "y": 2}}, "'x' holds a value that is not finite"),
]


@pytest.mark.parametrize(("settings", "message"), MISTAKES)
def test_mistakes_are_named(settings, message):
    settings = {"data": {"x": 1, "y": 2}, "params": {"w": 1, "b": 1}, **settings}
    with pytest.raises(gc.GraphcError) as error:
        gc.descend(gc.parse(LINE), **settings)
    assert message in str(error.value)


def test_a_graph_is_needed():
    with pytest.raises(gc.GraphcError, match="takes a graph, not str"):
        gc.descend("x**2", params={"x": 1})


def test_mistakes_in_tensors_are_named():
    graph = gc.parse("input X[n,m] y[n]\nparam w[m]\nL = sum((X @ w - y)**2)")
    data = {"X": np.ones((4, 2)), "y": np.ones(4)}
    with pytest.raises(gc.GraphcError, match="over='k' is no named size"):
        gc.descend(graph, data=data, params={"w": [1, 1]}, batch=2, over="k")
    with pytest.raises(gc.GraphcError, match="'w'"):
        gc.descend(graph, data=data, params={"w": [1, 1, 1]})
    with pytest.raises(gc.GraphcError, match="nothing to train"):
        gc.descend(gc.parse("input x = 1\nL = x**2"))


# Somebody else's optimiser.


def rosenbrock():
    graph = gc.parse("param x[3] a\nL = sum(100*(x[1:] - x[:-1]**2)**2 + (1 - x[:-1])**2) + a**2")
    return graph.compile(of="L", wrt=["x", "a"], want="value_and_grad")


def test_scipy_minimises_a_compiled_function():
    fun = gc.flat(rosenbrock(), params={"a": 2, "x": [-1, 1, 2]})
    assert fun.start.tolist() == [2, -1, 1, 2]  # in the order of params
    result = minimize(fun, fun.start, jac=True, method="BFGS")
    assert result.success
    found = fun.unflatten(result.x)
    assert found["x"] == pytest.approx([1, 1, 1], abs=1e-5)
    assert found["a"] == pytest.approx(0, abs=1e-6)
    assert fun.flatten(found).tolist() == result.x.tolist()


def test_flat_takes_any_function_and_data():
    def f(x, w):
        return np.sum(w * x), {"w": x}

    fun = gc.flat(f, {"w": np.ones((2, 2))}, data={"x": np.arange(4.0).reshape(2, 2)})
    value, gradient = fun(fun.start)
    assert value == 6
    assert type(value) is float
    assert gradient.tolist() == [0, 1, 2, 3]


def test_mistakes_in_vectors_are_named():
    fun = gc.flat(rosenbrock(), params={"a": 2, "x": [-1, 1, 2]})
    with pytest.raises(
        gc.GraphcError, match=r"a vector of 4 numbers, not an array of shape \(3,\)"
    ):
        fun(np.zeros(3))
    with pytest.raises(gc.GraphcError, match="values are missing for a"):
        fun.flatten({"x": [1, 2, 3]})
    with pytest.raises(gc.GraphcError, match=r"'x' has shape \(2,\), not \(3,\)"):
        fun.flatten({"x": [1, 2], "a": 0})
    with pytest.raises(gc.GraphcError, match="params is empty"):
        gc.flat(rosenbrock(), {})
    with pytest.raises(gc.GraphcError, match="x cannot be in params and in data"):
        gc.flat(rosenbrock(), {"x": [1, 2, 3]}, data={"x": 1})


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize(
    "text", ["input x\nparam w\nL = (w*x)**2", "input x[n]\nparam w\nL = sum(x*w)"]
)
def test_no_points_are_refused(text, batch):
    with pytest.raises(gc.GraphcError, match="'x' has shape \\(0,\\), so there are no points"):
        gc.descend(gc.parse(text), data={"x": []}, params={"w": 1.0}, batch=batch)


def test_an_array_may_be_there_for_its_size_alone():
    graph, rows = gc.parse("input X[n,2]\nparam w\nL = n*w**2"), np.ones((3, 2))
    found = gc.descend(graph, data={"X": rows}, params={"w": 1.0}, lr=0.125, steps=2)
    assert found.history == [3.0, 3 * 0.25**2]
    assert gc.descend(graph, data={"X": rows}, params={"w": 1.0}, batch=2, steps=1).history == [2.0]

"""Aggarwal, chapter 9: convolutions, pooling and their sizes."""

from workbook import exercise, pick

import graphc as gc


@exercise("aggarwal-9.1")
def filtered_series():
    g = gc.parse("""
        input x = [2, 1, 3, 4, 7]
        param w = [1, 0, 1]
        same = conv1d(x, w, padding=1)
        valid = conv1d(x, w)
        """)
    yield g
    yield from pick(g.values({}), "same valid")
    yield pick(g.reverse({"same": [1, 1, 1, 1, 1]}, at={}), "x w")


@exercise("aggarwal-9.2-3")
def output_sizes():
    def strided(stride=1, padding=0):
        return gc.parse(f"""
            input x[13]
            param w[3]
            y = conv1d(x, w, stride={stride}, padding={padding})
            """)

    valid = strided()
    same = next(p for p in range(13) if strided(padding=p)["y"].shape == valid["x"].shape)
    yield valid
    yield [valid["y"].size, same]

    def side(stride):
        """The output's size, or -1 if the filter never reaches the last input."""
        g = strided(stride)
        ones = {"x": [1] * 13, "w": [1] * 3}
        reached = g.reverse({"y": [1] * g["y"].size}, ones)["x"][-1]
        return g["y"].size if reached else -1

    yield [side(stride) for stride in (2, 3, 4, 5)]


@exercise("aggarwal-9.4-5")
def vgg():
    column_d = "64 64 M 128 128 M 256 256 256 M 512 512 512 M 512 512 512 M"
    g = gc.parse("input h0[3, 224, 224]")
    for k, depth in enumerate(column_d.split(), 1):
        if depth == "M":
            g.extend(f"h{k} = maxpool(h{k - 1}, 2)")
        else:
            g.extend(f"""
                param W{k}[{depth}, {g[f"h{k - 1}"].shape[0]}, 3, 3] b{k}[{depth}, 1, 1]
                h{k} = relu(conv2d(h{k - 1}, W{k}, padding=1) + b{k})
                """)
    yield g
    layers = [(g[f"h{k}"].shape, g[f"W{k}"], g[f"b{k}"]) for k in range(1, 19) if f"W{k}" in g]
    yield [[side, depth, W.size, b.size] for (depth, side, _), W, b in layers]
    weights, biases = (sum(layer[part].size for layer in layers) for part in (1, 2))
    yield [weights, biases, g["h18"].shape[1]]


@exercise("aggarwal-9.11")
def average_pooling():
    g = gc.parse("input x = [[1, 2, 3, 4], [5, 6, 7, 8]]\ny = avgpool(x, 2)")
    yield g
    yield g.jacobian("y", "x", at={})[0, 0, 0, 0]
    yield [*g.values({})["y"], *g.reverse({"y": [[4, 8]]}, at={})["x"]]


@exercise("aggarwal-9.3")
def convolution_three_ways():
    g = gc.parse("""
        input f = [[1, 2, 3], [4, 5, 6], [7, 8, 10]]
        param w = [[1, -1], [2, 3]]
        y = conv2d(f, w)
        """)
    upstream = [[1, -2], [3, 1]]
    yield g
    yield g.values({})["y"]
    C = g.jacobian("y", "f", at={}).reshape(4, 9)
    yield C
    df, dw = pick(g.reverse({"y": upstream}, at={}), "f w")
    assert (df.flatten() == C.T @ [1, -2, 3, 1]).all()
    yield df
    yield dw
    w, forward_padding = g["w"].value, 0
    backward = [gc.conv2d(upstream, w, padding=p, flip=True).tolist() for p in range(3)]
    yield forward_padding + backward.index(df.tolist())


@exercise("aggarwal-9.2-dots")
def two_positions():
    g = gc.parse("""
        input patches = [[5, 8, 1, 1], [4, 4, 4, 7]]
        param w = [1, 1, 1, 2]
        y = patches @ w
        """)
    yield g
    yield g.values({})["y"]

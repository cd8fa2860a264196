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
    blocks = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)]
    lines, depth, layer, below = ["input x[3, 224, 224]"], 3, 0, "x"
    for block, (channels, convolutions) in enumerate(blocks):
        for _ in range(convolutions):
            layer += 1
            lines.append(f"param W{layer}[{channels}, {depth}, 3, 3] b{layer}[{channels}, 1, 1]")
            lines.append(f"h{layer} = relu(conv2d({below}, W{layer}, padding=1) + b{layer})")
            depth, below = channels, f"h{layer}"
        lines.append(f"p{block} = maxpool({below}, 2)")
        below = f"p{block}"
    g = gc.parse("\n".join(lines))
    yield g
    rows = []
    for k in range(1, layer + 1):
        channels, side, _ = g[f"h{k}"].shape
        rows.append([side, channels, g[f"W{k}"].size, g[f"b{k}"].size])
    yield rows
    yield [sum(row[2] for row in rows), sum(row[3] for row in rows), g[below].shape[1]]


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

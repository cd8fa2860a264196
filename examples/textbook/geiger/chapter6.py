"""Geiger, lecture 6: optimisers."""

from workbook import exercise, iterate

import graphc as gc


@exercise("geiger-6.2")
def decoupled_momentum():
    for ahead in ("w", "w - 9/100*m"):
        bowl = gc.parse(f"param w = [1, 1]\ninput m = [0, 0]\nL = sum([1, 4]*({ahead})**2)")
        step = bowl.differentiate("L", "w").extend("""
            m_next = 9/10*m + 1/10*w_bar
            w_next = w - 1/10*m_next
            """)
        yield step
        yield [point["w"] for point in iterate(step, 3)]
    average = gc.parse("input m = 0\nm_next = 9/10*m + 1/10")  # of a constant 1
    biased = iterate(average, 10)
    yield [biased[t - 1]["m"] for t in (1, 2, 3, 10)]
    adam = bowl.differentiate("L", "w").extend("step = -1/10*w_bar/sqrt(w_bar**2)")
    yield adam.values({})["step"]  # the first averages, corrected for their bias, are the slope's

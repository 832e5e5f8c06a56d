"""Which class is predicted, also where scores are tied."""

import numpy as np
import pytest

from separatrix.losses.rivals import predicted_indicator, predicted_labels, predicted_numbers

TINY = np.nextafter(0.0, 1.0)


def test_the_larger_of_two_classes_has_score_zero():
    scores = np.array([-1.0, -TINY, -0.0, 0.0, TINY, 1.0])
    labels = predicted_labels(np.array(["a", "b"]), scores)
    assert labels.tolist() == ["a", "a", "b", "b", "b", "b"]
    assert predicted_numbers(scores[:, None]).tolist() == [0, 0, 1, 1, 1, 1]
    assert predicted_indicator(scores).tolist() == [0, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("scores", "label"),
    [
        ([0.0, 0.0, 0.0], "a"),
        ([1.0, 3.0, 3.0], "b"),
        ([3.0, 1.0, 3.0], "a"),
        ([1.0, 3.0, np.nextafter(3.0, 4.0)], "c"),
    ],
)
def test_of_several_tied_classes_the_first_is_predicted(scores, label):
    assert predicted_labels(np.array(["a", "b", "c"]), np.array([scores])).tolist() == [label]

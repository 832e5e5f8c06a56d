"""A verdict in words, as HTML and as plain data."""

from __future__ import annotations

import json

from conftest import CORNERS, LOGIC
from oracles import quasi

from separatrix import separability


def test_words_html_and_plain_data():
    reported = str(separability(CORNERS, LOGIC["and"]))
    assert "are separable" in reported
    assert "at most 51 mistakes" in reported
    found = separability(CORNERS, LOGIC["xor"])
    reported = str(found)
    assert f"a margin above {found.residual:.3g}" in reported
    assert "never stops" in reported
    X, y = quasi()
    found = separability(X, y, exact=True, feature_names=["a<b", "x"])
    assert "a<b (+inf)" in str(found)
    assert "cancel exactly" in str(found)
    assert "a&lt;b" in found._repr_html_()
    assert "<strong>quasi-separable</strong>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["boundary"] == [0, 1, 2, 3]
    assert plain["infinite_coefficients"] == {"a<b": "+inf", "x": "finite"}
    assert repr(found) == "<Separability: quasi-separable, 6 rows, 2 features>"

"""The page as one file: what is in it, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from posixpath import join, normpath

import pytest

from separatrix import page
from separatrix.page.document import document, finite, framed, joined, policy_of, standalone

NASTY = "</script><script>alert(1)</script><!--"


class Parts(HTMLParser):
    """Scripts, styles and addresses of a page, as a browser finds them."""

    def __init__(self, text):
        super().__init__()
        self.scripts, self.styles, self.metas, self.addresses = [], [], [], []
        self.inside = None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.addresses += [given[name] for name in ("src", "href", "action") if given.get(name)]
        if tag == "meta":
            self.metas.append(given)
        if tag in ("script", "style"):
            self.inside = (self.scripts if tag == "script" else self.styles, given)
            self.inside[0].append((given, ""))

    def handle_data(self, data):
        if self.inside:
            reported, given = self.inside
            reported[-1] = (given, reported[-1][1] + data)

    def handle_endtag(self, tag):
        self.inside = None


def hashed(text):
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_one_file_with_all_inside():
    parts = Parts(document({"name": NASTY}))
    (given, data), (_, script) = parts.scripts
    assert given == {"type": "application/json", "id": "saved"}
    assert json.loads(data) == {"name": NASTY}
    assert "<" not in data
    assert all(address.startswith("data:") for address in parts.addresses)
    (policy,) = [
        one["content"] for one in parts.metas if one.get("http-equiv") == "Content-Security-Policy"
    ]
    allowed = dict(part.split(" ", 1) for part in policy.split("; "))
    assert allowed["default-src"] == "'none'"
    assert allowed["script-src"] == hashed(script)
    assert allowed["style-src"] == " ".join(hashed(text) for _, text in parts.styles)
    assert "unsafe" not in policy


def test_the_whole_page_is_one_file_that_loads_nothing():
    text = standalone({"presets": {NASTY: []}})
    parts = Parts(text)
    (given, data), (_, script) = parts.scripts
    assert given == {"type": "application/json", "id": "shipped"}
    assert json.loads(data) == {"presets": {NASTY: []}}
    assert set(parts.addresses) == {"data:,"}
    assert hashed(script) in policy_of(text)
    assert "connect-src 'self'" in policy_of(text)
    with pytest.raises(ValueError, match="no content security policy"):
        policy_of("<p>")


def test_every_module_that_the_page_imports_is_joined_once():
    texts = {name: path.read_text() for name, path in page.files().items()}
    script = joined(texts)
    assert not re.search(r"^\s*(import|export)\b", script, re.MULTILINE)
    names = re.findall(r'^modules\["([\w/-]+\.js)"\] = ', script, re.MULTILINE)
    assert len(names) == len(set(names))
    assert names[-1] == "main.js"
    for name in names:  # each after all that it imports
        folder = name.rpartition("/")[0]
        for one in re.findall(r'from "(\.{1,2}/[\w/.-]+\.js)"', texts[name]):
            assert names.index(normpath(join(folder, one))) < names.index(name)


def test_what_is_exported_and_what_is_taken():
    texts = {
        "main.js": 'import { a, b as c } from "./x.js";\nexport const d = a + c;\n',
        "x.js": "export const a = 1;\nexport function b() {}\nconst e = 2;\n",
    }
    script = joined(texts)
    assert 'const { a, b: c } = modules["x.js"];' in script
    assert "return { a, b };" in script
    assert "return { d };" in script


def test_modules_of_folders_are_found_and_generators_exported():
    texts = {
        "main.js": 'import * as a from "./engine/a.js";\nexport const b = a;\n',
        "engine/a.js": '// a comment\nimport { c } from "../c.js";\nexport function* each() {}\n',
        "c.js": "export const c = 1;\n",
    }
    script = joined(texts)
    assert 'const a = modules["engine/a.js"];' in script
    assert 'const { c } = modules["c.js"];' in script
    assert "return { each };" in script
    assert "comment" not in script


def test_indentation_is_left_out_and_lines_stay():
    assert joined({"main.js": "a(\n  b, // c\n  // d\n);\n"}).endswith(
        "(() => {\na(\nb, // c\n\n);\n\nreturn {  };\n})();\n"
    )


def test_no_text_of_the_page_has_two_lines():  # its indentation would be lost
    for name, path in page.files().items():
        if name.endswith(".js"):
            for line in path.read_text().splitlines():
                assert line.count("`") % 2 == 0, (name, line)


@pytest.mark.parametrize(
    "text",
    ["export default 1;", 'import x from "./y.js";', "export { a };", "const a = import('./b.js');",
     "const a = '</script>';", "export let a = 1;"],
)  # fmt: skip
def test_what_cannot_be_joined_is_refused(text):
    with pytest.raises(ValueError, match=r"main\.js, line 2: .* cannot be joined"):
        joined({"main.js": f"const first = 1;\n{text}\n"})


def test_modules_that_import_each_other_are_refused():
    texts = {
        "main.js": 'import { a } from "./a.js";\n',
        "a.js": 'import { b } from "./b.js";\nexport const a = 1;\n',
        "b.js": 'import { a } from "./a.js";\nexport const b = 1;\n',
    }
    with pytest.raises(ValueError, match=r"a\.js -> b\.js -> a\.js"):
        joined(texts)


def test_a_frame_can_do_nothing_to_the_page_around_it():
    class Frame(HTMLParser):
        def handle_starttag(self, tag, attrs):
            self.given = dict(attrs)

    found = Frame()
    found.feed(framed(f'<p title="x">{NASTY}</p>', 500))
    assert found.given["srcdoc"] == f'<p title="x">{NASTY}</p>'
    assert found.given["sandbox"] == "allow-scripts"


def test_numbers_that_are_not_finite_become_null():
    assert finite({"a": [1.0, float("inf"), [float("nan")]]}) == {"a": [1.0, None, [None]]}

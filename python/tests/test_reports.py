# SPDX-License-Identifier: Apache-2.0
"""Profiles, pages and explanations, also where they show themselves."""
import csv
import io
import json

import numpy
import pytest

import hone


@pytest.fixture(scope="module")
def lenet(tmp_path_factory):
    path = tmp_path_factory.mktemp("lenet") / "lenet.hone"
    return hone.build(hone.zoo("lenet5"), path, level=1, threads=1)


@pytest.fixture(scope="module")
def profile(lenet):
    return hone.profile(lenet, runs=20, duration=0.05, warm_up=0.01)


def test_engine(lenet):
    assert lenet.name == "lenet5" and lenet.summary["steps"] == len(lenet.steps)
    assert str(lenet.inputs[0]) == "input float32[1, 1, 32, 32]"
    assert {step.op for step in lenet.steps} >= {"linear", "softmax"}
    assert all(step.origins for step in lenet.steps if "convert" not in step.name)
    assert lenet.memory.weights_bytes > 200000 and "arena" in str(lenet.memory)
    assert lenet.steps[0].name in str(lenet)
    assert "conv_pool" in lenet.explain(lenet.steps[0].name)
    decided = lenet.decisions(lenet.steps[0].name)
    assert [row["node"] for row in decided] == [lenet.steps[0].name]
    assert any(lenet.steps[0].tactic.startswith(one["tactic"]) for one in decided[0]["candidates"])
    with pytest.raises(hone.InvalidError, match="no such"):
        lenet.explain("no such")
    page = lenet._repr_html_()
    assert "lenet5" in page and "<table>" in page and lenet.steps[0].tactic.split("{")[0] in page
    assert repr(lenet).startswith("<hone.Engine lenet5: input float32[1, 1, 32, 32] -> ")


def test_profile(lenet, profile):
    runs = [step.name for step in lenet.steps if step.tactic]
    assert [row["name"] for row in profile.rows] == runs
    assert 0 < profile.total < 1000
    total = sum(row["percent"] for row in profile.rows)
    assert total == pytest.approx(100, abs=1)
    assert profile.data["runs"] >= 20
    assert json.loads(profile.to_json())["layers"] == profile.rows
    table = list(csv.DictReader(io.StringIO(profile.to_csv())))
    assert len(table) == len(profile.rows)
    assert runs[0] in str(profile) and "softmax" in profile.table(by="type")
    assert all({"name", "finding"} <= set(item) for item in profile.advice())
    assert "f32" in profile.roofline()
    assert runs[0] in profile._repr_html_() and "lenet5" in repr(profile)
    with pytest.raises(ValueError, match="layer, type, onnx-node or module"):
        profile.table(by="colour")


def test_inputs_of_a_profile(lenet):
    x = numpy.zeros((1, 1, 32, 32), numpy.float32)
    assert hone.profile(lenet, {"input": x}, runs=1, duration=0, warm_up=0).rows
    with pytest.raises(ValueError, match='no input "x"'):
        hone.profile(lenet, {"x": x})
    with pytest.raises(hone.InvalidError, match="float64"):
        hone.profile(lenet, {"input": x.astype(float)})
    with pytest.raises(ValueError, match="runs"):
        hone.profile(lenet, runs=0)


def test_page(lenet, profile, tmp_path):
    path = tmp_path / "page.html"
    page = profile.html(path)
    text = path.read_text(encoding="utf-8")
    assert page.text == text and page.path == str(path) and text.startswith("<!")
    for step in lenet.steps:
        assert step.name in text
    assert 'srcdoc="&lt;!' in page._repr_html_()
    assert profile.html().path is None
    earlier = tmp_path / "before.json"
    earlier.write_text(profile.to_json(), encoding="utf-8")
    assert "lenet5" in profile.html(before=earlier).text
    report = lenet.report(tmp_path / "r.html", runs=2, duration=0, warm_up=0)
    assert report.text == (tmp_path / "r.html").read_text(encoding="utf-8")
    with pytest.raises(hone.FileError):
        profile.html(tmp_path / "no folder" / "p.html")


def test_diff(lenet):
    slow = hone.build(hone.zoo("lenet5"), level=0, threads=1, reference_only=True)
    found = lenet.diff(slow, duration=0.2)
    assert found.regressed and not slow.diff(lenet, duration=0.2).regressed
    assert "lenet5" in str(found) and "<pre>" in found._repr_html_()
    assert json.loads(found.to_json()) == found.data

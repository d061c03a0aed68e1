#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""classic.py - models of scikit-learn, LightGBM and XGBoost, as their converters export them: trained here, and hone's labels
and scores held against what the libraries say themselves.
usage: tests/models/classic.py     HONE_BIN names the tool; run by the Python of tests/models/classic_requirements.txt"""
import os
import pathlib
import subprocess
import sys
import tempfile
import warnings

PROJECT = pathlib.Path(__file__).resolve().parents[2]
HONE = os.environ.get("HONE_BIN", str(PROJECT / "build/release/hone"))
OWN = PROJECT / "build/classic-env/bin/python3"
try:
    import lightgbm
    import numpy as np

    import onnxmltools
    import xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx
    from sklearn.datasets import make_classification, make_regression
    from sklearn.ensemble import (ExtraTreesClassifier, GradientBoostingClassifier, RandomForestClassifier,
                                  RandomForestRegressor)
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler
    from sklearn.svm import SVC, SVR, NuSVC
    from sklearn.tree import DecisionTreeClassifier
except ImportError as error:
    if OWN.exists() and pathlib.Path(sys.prefix) != OWN.parents[1]:
        os.execv(OWN, [str(OWN), *sys.argv])
    print(f"skipped: {error} (sh tools/python_env.sh tests/models/classic_requirements.txt build/classic-env)")
    sys.exit(77)

warnings.filterwarnings("ignore")
ROWS, FEATURES, SHOWN = 400, 8, 100
BOUND = 5e-6  # of scores about 1: sums of a hundred numbers in f32; the support vectors' exponents need ten of it
problems = []


def data(seed, classes):
    make = (lambda: make_classification(ROWS, FEATURES, n_informative=6, n_classes=classes, random_state=seed)) if classes else (
        lambda: make_regression(ROWS, FEATURES, random_state=seed))
    x, y = make()
    return x.astype(np.float32), y if classes else (y / 100).astype(np.float32)


def by_skl(model, x):
    options = {id(model): {"zipmap": isinstance(model, DecisionTreeClassifier)}} if hasattr(model, "predict_proba") else None
    return to_onnx(model, x[:1], target_opset={"": 17, "ai.onnx.ml": 3}, options=options)


def by_tools(convert):
    return lambda model, x: convert(model, initial_types=[("x", FloatTensorType([None, x.shape[1]]))], target_opset=15)


def outputs(onnx_model, x, folder):
    path = folder / "model.onnx"
    path.write_bytes(onnx_model.SerializeToString())
    np.save(folder / "x.npy", x)
    name = onnx_model.graph.input[0].name
    ran = subprocess.run([HONE, "run", path, "--input", f"{name}={folder / 'x.npy'}", "--output-dir", folder], capture_output=True,
                         text=True, timeout=600, check=False)
    if ran.returncode:
        return ran.stderr.strip(), []
    return None, [np.load(folder / f"{one.name}.npy") for one in onnx_model.graph.output]


def check(name, model, convert, x, y, bound=BOUND):
    model.fit(x, y)
    classifies = hasattr(model, "predict_proba")
    seen = x[:SHOWN]
    with tempfile.TemporaryDirectory() as folder:
        failure, got = outputs(convert(model, x), seen, pathlib.Path(folder))
    if failure:
        problems.append(f"{name}: {failure}")
        return
    want = model.predict_proba(seen) if classifies else model.predict(seen).reshape(len(seen), -1)
    error = float(np.abs(got[-1].reshape(want.shape) - want).max() / max(1, np.abs(want).max()))
    wrong = int((got[0] != model.predict(seen)).sum()) if classifies else 0
    print(f"{name:24} largest error {error:.1e}, {wrong} of {len(seen)} labels differ", flush=True)
    if wrong or not error <= bound:
        problems.append(f"{name}: {wrong} labels differ, error {error:.1e}, allowed {bound:.1e}")


def main():
    x3, y3 = data(1, 3)
    x2, y2 = data(2, 2)
    xr, yr = data(3, 0)
    holes = x3.copy()
    holes[::7, 2] = np.nan
    light, boost = by_tools(onnxmltools.convert_lightgbm), by_tools(onnxmltools.convert_xgboost)
    check("random forest", RandomForestClassifier(20, max_depth=7, random_state=0), by_skl, x3, y3)
    check("random forest, names", RandomForestClassifier(10, random_state=0), by_skl, x3, np.array(["low", "middle", "high"])[y3])
    check("random forest, numbers", RandomForestRegressor(20, random_state=0), by_skl, xr, yr)
    check("extra trees", ExtraTreesClassifier(15, random_state=0), by_skl, x3, y3)
    check("gradient boosting", GradientBoostingClassifier(n_estimators=30, random_state=0), by_skl, x2, y2)
    check("tree with ZipMap", DecisionTreeClassifier(random_state=0), by_skl, x3, y3)
    check("logistic, three classes", make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression(max_iter=500)), by_skl,
          holes, y3)
    check("logistic, two classes", make_pipeline(MinMaxScaler(), LogisticRegression()), by_skl, x2, y2)
    check("ridge", make_pipeline(Normalizer(), Ridge()), by_skl, xr, yr)
    check("support vectors", make_pipeline(StandardScaler(), SVR()), by_skl, xr, yr, 10 * BOUND)
    check("SVR, polynomials", make_pipeline(StandardScaler(), SVR(kernel="poly", degree=2, coef0=1.0)), by_skl, xr, yr, 10 * BOUND)
    check("SVC, three classes", make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)), by_skl, x3, y3, 10 * BOUND)
    check("SVC, two classes", make_pipeline(StandardScaler(), SVC(probability=True, random_state=0)), by_skl, x2, y2, 10 * BOUND)
    check("SVC, names, linear", make_pipeline(StandardScaler(), SVC(kernel="linear", probability=True, random_state=0)), by_skl, x3,
          np.array(["low", "middle", "high"])[y3], 10 * BOUND)
    check("NuSVC, sigmoids", make_pipeline(StandardScaler(), NuSVC(kernel="sigmoid", nu=0.3, probability=True, random_state=0)),
          by_skl, x2, y2, 10 * BOUND)
    check("LightGBM, three classes", lightgbm.LGBMClassifier(n_estimators=20, verbose=-1), light, x3, y3)
    check("LightGBM, two classes", lightgbm.LGBMClassifier(n_estimators=20, verbose=-1), light, x2, y2)
    check("LightGBM, numbers", lightgbm.LGBMRegressor(n_estimators=20, verbose=-1), light, xr, yr)
    check("XGBoost, three classes", xgboost.XGBClassifier(n_estimators=20), boost, x3, y3)
    check("XGBoost, two classes", xgboost.XGBClassifier(n_estimators=20), boost, x2, y2)
    check("XGBoost, with holes", xgboost.XGBClassifier(n_estimators=20), boost, holes, y3)
    check("XGBoost, numbers", xgboost.XGBRegressor(n_estimators=20), boost, xr, yr)
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

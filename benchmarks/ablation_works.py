"""The works that show the gain of a mechanism, by name."""

from __future__ import annotations

from functools import partial

from sklearn.datasets import load_digits, load_iris

from separatrix.solvers import LBFGS, GradientDescent, LeastSquares

from . import data
from .ablation_kinds import (
    MANY,
    Make,
    by_blocks,
    classes_apart,
    digits,
    equations,
    fit,
    folds,
    gate,
    kernel,
    left_out,
    nearly_apart,
    passes,
    predictions,
    repeated,
    sparse_correlated,
    touching,
    toy,
    verdict,
)


def works() -> dict[str, Make]:
    tall, wide, text = (500_000, 100), (20_000, 2_000), (40_000, 20_000, 60)
    tables = {"correlated": data.correlated, "independent": data.clouds}
    found: dict[str, Make] = {}
    for name, make in tables.items():
        for form, shape in (("tall", tall), ("wide", wide)):
            for bits, suffix in ((32, "-32"), (64, "")):
                found[f"logistic-{name}-{form}{suffix}"] = partial(
                    fit, make=make, shape=shape, loss="logistic", l2=1e-5, bits=bits
                )
    long_text = (200_000, 47_000, 90)
    wide_text, few_wide_text = (3_000, 30_000, 80), (600, 6_000, 60)
    images = (60_000, 784, 10)
    of_text = partial(fit, make=data.text)
    return found | {
        "squared_hinge-independent-tall-32": partial(
            fit, make=data.clouds, shape=tall, loss="squared_hinge", l2=1e-5, bits=32
        ),
        "softmax": partial(fit, make=data.images, shape=images, loss="logistic", l2=1e-4),
        "softmax-small": partial(
            fit, make=data.images, shape=(4_000, 196, 10), loss="logistic", l2=1e-4
        ),
        "softmax-images-weak": partial(
            fit, make=data.images, shape=(20_000, 196, 10), loss="logistic", l2=1e-7
        ),
        "squared_hinge-images-weak": partial(
            fit, make=data.images, shape=(20_000, 196, 10), loss="squared_hinge", l2=1e-7
        ),
        "softmax-clouds": partial(
            fit, make=data.many_clouds, shape=(40_000, 300, 8), loss="logistic", l2=1e-4
        ),
        "softmax-clouds-weak": partial(
            fit, make=data.many_clouds, shape=(40_000, 300, 8), loss="logistic", l2=1e-7
        ),
        "softmax-text": partial(
            fit, make=data.tf_idf_documents, shape=(5_500, 12_000, 50, 20), loss="logistic",
            l2=1e-4, intercept=False,
        ),
        "softmax-digits": partial(digits, l2=1e-4),
        "softmax-digits-weak": partial(digits, l2=1e-8),
        "squared_hinge-digits": partial(digits, l2=1e-4, loss="squared_hinge"),
        "squared_hinge-digits-weak": partial(digits, l2=1e-8, loss="squared_hinge"),
        "logistic-sparse": partial(
            of_text, shape=long_text, loss="logistic", l2=2.5e-6, intercept=False
        ),
        "hinge-sparse": partial(
            of_text, shape=long_text, loss="hinge", l2=2.5e-6, intercept=False
        ),
        "logistic-text": partial(
            of_text, shape=text, loss="logistic", l2=1e-5, intercept=False
        ),
        "logistic-wide-text": partial(of_text, shape=wide_text, loss="logistic", l2=1e-5),
        "squared_hinge-text": partial(
            of_text, shape=text, loss="squared_hinge", l2=1e-5, intercept=False
        ),
        "hinge-text": partial(of_text, shape=text, loss="hinge", l2=1e-5),
        "hinge-wide-text": partial(of_text, shape=wide_text, loss="hinge", l2=1e-5),
        "hinge-one-hot": partial(
            fit, make=data.one_hot, shape=(30_000, 10, 51), loss="hinge", l2=1 / 6000
        ),
        "hinge-one-hot-no-bias": partial(
            fit, make=data.one_hot, shape=(30_000, 10, 51), loss="hinge", l2=1 / 6000,
            intercept=False,
        ),
        "hinge-one-hot-weak": partial(
            fit, make=data.one_hot, shape=(30_000, 10, 51), loss="hinge", l2=1 / 600_000
        ),
        "hinge-one-hot-many-weak": partial(
            fit, make=data.one_hot, shape=(20_000, 10, 200), loss="hinge", l2=1e-6
        ),
        **{
            f"{loss}-few-text": partial(
                of_text, shape=(2_000, 12_000, 60), loss=loss, l2=2.5e-4, intercept=False
            )
            for loss in ("hinge", "squared_hinge", "logistic")
        },
        "hinge-few-wide-text": partial(of_text, shape=few_wide_text, loss="hinge", l2=1e-4),
        "squared_hinge-few-wide-text": partial(
            of_text, shape=few_wide_text, loss="squared_hinge", l2=1e-4
        ),
        "logistic-few-rows": partial(
            fit, make=data.clouds, shape=(60, 5_000), loss="logistic", l2=1e-4
        ),
        "logistic-few-rows-correlated": partial(
            fit, make=data.correlated, shape=(100, 1_500), loss="logistic", l2=1e-4
        ),
        "hinge-wide": partial(
            fit, make=data.clouds, shape=(2_000, 1_000), loss="hinge", l2=1e-5
        ),
        "squared_hinge-wide": partial(
            fit, make=data.clouds, shape=(2_000, 1_000), loss="squared_hinge", l2=1e-5
        ),
        "hinge-wide-correlated": partial(
            fit, make=data.correlated, shape=(3_000, 1_500), loss="hinge", l2=1e-5
        ),
        "squared_hinge-wide-correlated": partial(
            fit, make=data.correlated, shape=(3_000, 1_500), loss="squared_hinge", l2=1e-5
        ),
        "squared-tall": partial(fit, make=data.clouds, shape=tall, loss="squared", l2=1e-5),
        "squared-correlated": partial(
            fit, make=data.correlated, shape=(50_000, 100), loss="squared", l2=1e-5
        ),
        "logistic-small": partial(
            fit, make=data.clouds, shape=(500, 10), loss="logistic", l2=1e-5
        ),
        "logistic-small-correlated": partial(
            fit, make=data.correlated, shape=(500, 20), loss="logistic", l2=1e-6
        ),
        "passes-tall-32": partial(passes, make=data.clouds, shape=tall, bits=32),
        "passes-tall-64": partial(passes, make=data.clouds, shape=tall),
        "passes-wide-64": partial(passes, make=data.clouds, shape=(50_000, 1_000)),
        "passes-wide-32": partial(passes, make=data.clouds, shape=(50_000, 1_000), bits=32),
        "passes-wider-64": partial(passes, make=data.clouds, shape=(12_000, 4_000)),
        "passes-images": partial(passes, make=data.images, shape=images, bits=32),
        "passes-sparse": partial(passes, make=data.text, shape=long_text),
        "perceptron-and": gate,
        "passes-iris": partial(toy, load=load_iris, calls=20),
        "passes-digits": partial(toy, load=load_digits, calls=1),
        "clean-pass-64": partial(
            passes, make=data.separable, shape=(500_000, 100, 0.06), count=MANY
        ),
        "clean-pass-32": partial(
            passes, make=data.separable, shape=(500_000, 100, 0.06), bits=32, count=MANY
        ),
        "clean-pass-4-classes": partial(
            passes, make=classes_apart, shape=(200_000, 20, 4, 0.3), count=MANY
        ),
        "cross-validation": partial(folds, n=100_000, d=50),
        "cross-validation-small": partial(folds, n=5_000, d=20),
        "cross-validation-hinge": partial(folds, n=20_000, d=50, loss="hinge", l2s=3),
        "cross-validation-wide": partial(folds, n=10_000, d=2_000, l2s=3),
        "cross-validation-small-hinge": partial(folds, n=500, d=10, loss="hinge", l2s=5),
        "cross-validation-few-rows": partial(
            folds, n=200, d=5_000, loss="logistic", l2s=5
        ),
        "cross-validation-few-rows-hinge": partial(
            folds, n=200, d=5_000, loss="hinge", l2s=5
        ),
        "cross-validation-few-rows-squared_hinge": partial(
            folds, n=200, d=5_000, loss="squared_hinge", l2s=5
        ),
        "cross-validation-few-rows-squared": partial(
            folds, n=200, d=5_000, loss="squared", l2s=5
        ),
        "leave-one-out-text": partial(left_out, shape=(2_500, 20_000, 80)),
        "predict-tall": partial(predictions, shape=tall),
        "one-pass-tall": partial(passes, make=data.clouds, shape=tall, count=1),
        "logistic-very-wide-text": partial(
            of_text, shape=(50_000, 500_000, 60), loss="logistic", l2=1e-5, solver=LBFGS()
        ),
        "logistic-text-lbfgs": partial(
            of_text, shape=text, loss="logistic", l2=1e-5, solver=LBFGS()
        ),
        "logistic-square": partial(
            fit, make=data.clouds, shape=(4_000, 2_000), loss="logistic", l2=1e-3
        ),
        "logistic-square-correlated": partial(
            fit, make=data.correlated, shape=(20_000, 1_000), loss="logistic", l2=1e-5
        ),
        "squared-text": partial(
            of_text, shape=(5_000, 1_000, 30), loss="squared", l2=1e-5, solver=LeastSquares()
        ),
        "squared-sparse-correlated": partial(
            fit, make=sparse_correlated, shape=(2_000, 100), loss="squared", l2=1e-5,
            solver=LeastSquares(),
        ),
        "squared-text-free": partial(
            of_text, shape=(5_000, 1_000, 30), loss="squared", l2=0.0, solver=LeastSquares()
        ),
        "hinge-small": partial(fit, make=data.clouds, shape=(500, 10), loss="hinge", l2=1e-3),
        "hinge-square-weak": partial(
            fit, make=data.correlated, shape=(2_500, 2_000), loss="hinge", l2=1e-6
        ),
        "hinge-square-text": partial(of_text, shape=(4_000, 2_000, 200), loss="hinge", l2=1e-7),
        "minibatch": partial(
            fit, make=data.correlated, shape=(50_000, 100), loss="logistic", l2=1e-3, tol=1e-3,
            solver=GradientDescent(64),
        ),
        "hinge-text-weak": partial(
            of_text, shape=(5_000, 5_000, 60), loss="hinge", l2=1e-8, intercept=False
        ),
        "hinge-classes": partial(
            fit, make=data.images, shape=(500, 64, 10), loss="hinge", l2=1e-4
        ),
        "hinge-classes-tall": partial(
            fit, make=data.images, shape=(6_000, 64, 5), loss="hinge", l2=1e-4
        ),
        "hinge-classes-weak": partial(
            fit, make=data.images, shape=(4_000, 64, 10), loss="hinge", l2=1e-8
        ),
        "hinge-images": partial(
            fit, make=data.images, shape=(3_000, 196, 10), loss="hinge", l2=1 / 6000,
            intercept=False,
        ),
        "hinge-documents-tall": partial(
            fit, make=data.tf_idf_documents, shape=(20_000, 2_000, 50, 8), loss="hinge", l2=1e-5,
            intercept=False,
        ),
        "hinge-documents": partial(
            fit, make=data.documents, shape=(3_000, 8_000, 60, 8), loss="hinge", l2=1e-4
        ),
        "squared_hinge-documents": partial(
            fit, make=data.documents, shape=(3_000, 8_000, 60, 8), loss="squared_hinge", l2=1e-4
        ),
        "logistic-counts-weak": partial(
            fit, make=data.documents, shape=(7_000, 21_000, 20, 2), loss="logistic", l2=7e-7,
            intercept=False,
        ),
        "squared-documents": partial(
            fit, make=data.documents, shape=(3_000, 8_000, 60, 8), loss="squared", l2=1e-4
        ),
        "squared-wide": partial(
            fit, make=data.clouds, shape=(400, 2_000), loss="squared", l2=1e-3
        ),
        "hinge-digits": partial(digits, l2=1e-4, loss="hinge"),
        "hinge-digits-weak": partial(digits, l2=1e-7, loss="hinge"),
        "kernel-rbf": partial(kernel, name="rbf", n=5_000, d=20),
        "kernel-laplacian": partial(kernel, name="laplacian", n=2_000, d=20),
        "verdict-wide": partial(verdict, make=data.clouds, shape=(2_500, 1_000)),
        "verdict-wide-apart": partial(verdict, make=data.clouds, shape=(1_000, 1_000)),
        "verdict-text": partial(verdict, make=data.text, shape=(2_000, 1_200, 50)),
        "verdict-wider": partial(verdict, make=data.clouds, shape=(500, 3_000)),
        "verdict-correlated": partial(verdict, make=nearly_apart, shape=(20_000, 60)),
        "verdict-repeated": partial(verdict, make=repeated, shape=(500, 40)),
        "exact-simplex": partial(equations, m=21, n=60),
        "verdict-touching": partial(verdict, make=touching, shape=(2_000, 30)),
        "logistic-blocks": partial(by_blocks, shape=(300_000, 30), dtype="float64"),
        "logistic-blocks-float32": partial(by_blocks, shape=(300_000, 30), dtype="float32"),
        "verdict-tall": partial(verdict, make=data.separable, shape=(200_000, 50, 0.0)),
    }  # fmt: skip


WORKS = works()

"""``inference``: standard errors and tests of the coefficients of a model."""

from __future__ import annotations

import warnings
from typing import Annotated

import typer

import separatrix

from . import arguments as arg
from .inputs import column_of, judged, loaded
from .output import console, print_json, printable
from .paths import opened
from .progress import Watch
from .proving import print_rows

TESTED = ("statistic", "degrees", "p_value", "features")  # keys of a test in ``--json``


def inference(
    model: arg.Model,
    data: arg.Data,
    target: arg.Target = None,
    covariance: Annotated[
        str | None,
        typer.Option(
            help="model, sandwich (right also if the model is only an approximation) or cluster. "
            "[default: model; cluster with --groups]"
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(help="The column that names the cluster of every row."),
    ] = None,
    intervals: Annotated[str, typer.Option(help="wald or profile.")] = "wald",
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Features in the table, separated by commas (default: all).",
            callback=arg.separate_names,
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of the intervals.")] = 0.95,
    reference: Annotated[
        str | None,
        typer.Option(help="For several classes, the class that others are compared with."),
    ] = None,
    test: Annotated[
        list[str] | None,
        typer.Option(
            help="Features whose coefficients are tested together, separated by commas.",
            callback=arg.separate_names,
        ),
    ] = None,
    other_rows: Annotated[
        bool,
        typer.Option("--other-rows", help="Allow other rows than those of the fit."),
    ] = False,
    format: arg.Format = None,
    json: arg.Json = False,
) -> None:
    """Print standard errors, p-values and intervals of a model's coefficients.

    Pass the rows of its fit. Fit with --l2 0 for the classical results.
    """
    estimator = loaded(model)
    with opened(data, format) as paths, Watch() as watch:
        watch.stage("Summing over the rows of the fit")
        of = judged(estimator, paths, target, format)
        kind = covariance or ("model" if groups is None else "cluster")
        clusters = None if groups is None else column_of(groups, of, estimator, paths, format)
        labels = {str(label): label for label in estimator.classes_.tolist()}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # the table has the same notes
            found = separatrix.inference(
                estimator,
                of.rows,
                covariance=kind,
                groups=clusters,
                level=level,
                intervals=intervals,
                features=features,
                reference=labels.get(reference or "", reference),
                other_rows=other_rows,
            )
        ratio = None
        if test is not None:
            watch.stage("Fitting without the tested features")
            ratio = found.test(test)
    if json:
        tested = None if ratio is None else dict(zip(TESTED, ratio, strict=True))
        facts = {"model": model, "data": of.facts(data), "test": tested}
        print_json("inference", facts | {"inference": found.to_dict()})
        return
    print_rows(of)
    console().print(printable(str(found)), soft_wrap=True)
    if ratio is not None:
        console().print(
            printable(
                f"Without {', '.join(ratio.features)}: likelihood ratio {ratio.statistic:.4g}, "
                f"{ratio.degrees} degree{'s' * (ratio.degrees != 1)} of freedom, "
                f"p = {ratio.p_value:.3g}."
            ),
            soft_wrap=True,
        )

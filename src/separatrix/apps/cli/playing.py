"""``playground``: the page on which a classifier is seen to learn."""

from __future__ import annotations

from typing import Annotated

import typer


def playground(
    link: Annotated[
        str, typer.Argument(help="What stands behind # in a copied link, with the #.")
    ] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where it listens. [default: 8737]")
    ] = None,
    open: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
) -> None:
    """Place points, press Step, and see how a classifier learns; ends by Ctrl-C."""
    if link and not link.startswith("#"):
        raise ValueError(f"{link[:40]!r}: expected what a copied link has from its # on")
    try:
        from ..playground.server import serve
    except ImportError as error:
        raise ImportError(
            f"{error.name} is missing, which the playground needs: "
            "pip install 'separatrix[playground]'"
        ) from error
    serve(port, open, link)

"""``playground``: the page on which a classifier is seen to learn."""

from __future__ import annotations

from typing import Annotated

import typer

from ..playground import links
from .inputs import check_output
from .output import say
from .written import write_recording


def playground(
    link: Annotated[
        str, typer.Argument(help="What a copied link has from its # on, or a file of the page.")
    ] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Where it listens. [default: 8737]")
    ] = None,
    open: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    trace: Annotated[
        str | None,
        typer.Option(help="Write the link's run to this file, .json or .html, and serve no page."),
    ] = None,
) -> None:
    """Place points, press Step, and see how a classifier learns; ends by Ctrl-C."""
    state = links.opened(link) if link else {}
    if trace is not None:
        if not state:
            raise ValueError("--trace: say of which run, by the link or file that the page gives")
        from ..playground.runs import PlaygroundRun

        check_output(trace)
        made = PlaygroundRun.of(state)
        write_recording(trace, made.recording.to_json, made.page)
        say(f"{len(made.recording):,} steps are in {trace}.")
        return
    try:
        from ..playground.server import serve
    except ImportError as error:
        raise ImportError(
            f"{error.name} is missing, which the playground needs: "
            "pip install 'separatrix[playground]'"
        ) from error
    serve(port, open, links.to_fragment(state) if state else "")

"""``playground``: the page that shows how a classifier learns."""

from __future__ import annotations

from typing import Annotated

import typer

from .output import say
from .paths import check_output
from .written import write_recording, written


def playground(
    link: Annotated[
        str, typer.Argument(help="The part of a copied link from # onwards, or a file of the page.")
    ] = "",
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port to listen on. [default: 8737]")
    ] = None,
    open: Annotated[bool, typer.Option(help="Open the page in a browser.")] = True,
    trace: Annotated[
        str | None,
        typer.Option(
            help="Write the link's run to this file (.json or .html) instead of serving the page."
        ),
    ] = None,
    save: Annotated[
        str | None,
        typer.Option(
            help="Write the page, which needs no server, to this .html file instead of serving it."
        ),
    ] = None,
) -> None:
    """Place points, press Step, and watch a classifier learn; Ctrl-C ends it."""
    from ..playground import links

    if trace is not None and save is not None:
        raise ValueError("--trace and --save write different pages: give one of them")
    state = links.opened(link) if link else {}
    if save is not None:
        from ..playground.standalone import standalone

        with written(_page_path(save)) as file:
            file.write(standalone(state or None).encode())
        say(f"The page is in {save}.")
        return
    if trace is not None:
        if not state:
            raise ValueError("--trace: give the link or file of the run that the page offers")
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


def _page_path(output: str) -> str:
    """Refuse a path that a browser would not open as a page."""
    if not output.endswith((".html", ".htm")):
        raise ValueError(f"--save: expected the name of a page, such as page.html, got {output!r}")
    check_output(output)
    return output

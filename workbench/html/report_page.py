"""A check that has failed as a page: what it covered, all that it has to say, and its other pages.

Every engine has this page; one that has a trace or a history has a page for each of them too.
"""

from collections.abc import Sequence

from model.checking.explore import Verdict
from workbench.check import Finding
from workbench.html.markup import NOTHING, Markup, element, join
from workbench.html.page import build_commands, build_masthead, build_page, list_items

CLAIMS = {
    Verdict.PASS: "Everything that was checked is as specified.",
    Verdict.FAIL: "Something is not as specified.",
    Verdict.UNDETERMINED: "Not enough was shown: this is no pass.",
}


def format_check_html(finding: Finding, pages: Sequence[str], run: str) -> str:
    """Return a check as a page that opens from disk; `pages` are files that lie beside it."""
    title = f"{finding.verdict}: {finding.name}"
    body = element(
        "main",
        element(
            "header",
            build_masthead("a check"),
            element("h1", title),
            element("p", CLAIMS[finding.verdict], class_="claim"),
            build_commands("Repeat", finding.repeat),
            class_="wrong",
        ),
        element("section", element("h2", "Covered"), element("p", finding.covered)),
        _draw_links(pages),
        _draw_report(finding),
        element("footer", element("p", f"Found {run}.")),
    )
    return build_page(title, body, styles=("page.css", "report.css"), scripts=())


def _draw_links(pages: Sequence[str]) -> Markup:
    if not pages:
        return NOTHING
    links = [element("a", page, href=page) for page in pages]
    return element("section", element("h2", "To look at"), list_items(links))


def _draw_report(finding: Finding) -> Markup:
    """Return the report as the terminal has it, in a box that the keyboard can scroll."""
    if not any(finding.report):
        return NOTHING
    lines = join(finding.report, "\n")
    box = element("pre", lines, tabindex=0, role="region", aria_label="Report")
    return element("section", element("h2", "Report"), box)

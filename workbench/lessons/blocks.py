"""What a page is made of: blocks that say what they are, and not how they look.

`terminal` and `html` each draw every kind of block; one that is forgotten is a type error.
"""

from dataclasses import dataclass

from workbench.lessons.rules import Rule


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a section; the parts of a section have a lower level."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Prose:
    """Paragraphs of plain English."""

    text: str


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules with their own sentences."""

    rules: tuple[Rule, ...]


@dataclass(frozen=True, slots=True)
class Source:
    """Code as it stands in a file."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Diff:
    """A change of a file: lines that begin with "-" give way to those with "+"."""

    file: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of a trace, as lines; the indentation says what belongs to what."""

    caption: str
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Commands:
    """Commands to type."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Grid:
    """A table; headings that end in "#" are of numbers.

    With `is_schedule` each row is the turn of one caller, and its cells are statements.
    """

    caption: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_schedule: bool = False


@dataclass(frozen=True, slots=True)
class Meter:
    """A quantity with its limit, or with none."""

    label: str
    value: int
    limit: int | None


@dataclass(frozen=True, slots=True)
class Meters:
    """A state as a picture: how full each thing is."""

    caption: str
    meters: tuple[Meter, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """A row of bars, one for each second."""

    name: str
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Bars:
    """Bars over seconds; all series have one scale."""

    caption: str
    unit: str
    series: tuple[Series, ...]


@dataclass(frozen=True, slots=True)
class Claims:
    """Properties: kind, name and sentence of each."""

    claims: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Links:
    """Other lessons by name, each with its title."""

    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question with its choices; `answer` is shown when somebody has answered.

    `meanings` say for each choice what it means, where the specification has a word for it.
    """

    text: str
    choices: tuple[str, ...]
    right: str
    answer: tuple["Block", ...]
    meanings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reveal:
    """Blocks that are shown on request."""

    summary: str
    blocks: tuple["Block", ...]


Block = (
    Heading
    | Prose
    | Rules
    | Source
    | Diff
    | Steps
    | Commands
    | Grid
    | Meters
    | Bars
    | Claims
    | Links
    | Ask
    | Reveal
)


@dataclass(frozen=True, slots=True)
class Page:
    """A page: its name (of the file and of the command), its title, the rules, the blocks."""

    name: str
    title: str
    rules: tuple[str, ...]
    blocks: tuple[Block, ...]

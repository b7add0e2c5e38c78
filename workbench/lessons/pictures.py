"""Pictures of a page as inline SVG: how full a state is, and bars over seconds.

They take their colours from the page, and say in words what they show.
"""

from collections.abc import Sequence
from html import escape

from workbench.lessons.blocks import Meter, Series

METER_WIDTH, METER_HEIGHT = 160, 14
MOST_CELLS = 12
"""Up to this limit a meter shows each unit as a box; above it, one bar."""
CHART_WIDTH, CHART_HEIGHT = 340, 150
LEFT, BOTTOM, TOP = 34, 18, 16


def draw_meters(meters: Sequence[Meter]) -> str:
    """Return meters as rows: label, picture and number."""
    rows = (
        f'<div class="meter"><span>{escape(meter.label)}</span>{_draw_meter(meter)}'
        f"<span>{say_meter(meter)}</span></div>"
        for meter in meters
    )
    return f'<div class="meters">{"".join(rows)}</div>'


def say_meter(meter: Meter) -> str:
    """Return what a meter shows, in words."""
    if meter.limit is None:
        return str(meter.value)
    over = ", over the limit" if meter.value > meter.limit else ""
    return f"{meter.value} of {meter.limit}{over}"


def _draw_meter(meter: Meter) -> str:
    limit = meter.value if meter.limit is None else meter.limit
    scale = max(limit, meter.value, 1)
    cells = scale if scale <= MOST_CELLS else 0
    shapes = _draw_cells(meter.value, limit, cells) if cells else _draw_bar(meter.value, limit)
    return (
        f'<svg viewBox="0 0 {METER_WIDTH} {METER_HEIGHT}" preserveAspectRatio="xMinYMid" '
        f'aria-hidden="true" focusable="false">{shapes}</svg>'
    )


def _draw_cells(value: int, limit: int, cells: int) -> str:
    width = min(METER_WIDTH / cells, 26)
    shapes = []
    for cell in range(cells):
        kind = "over" if cell >= limit else "used" if cell < value else "free"
        shapes.append(
            f'<rect class="{kind}" x="{cell * width + 1:.1f}" y="1" '
            f'width="{width - 3:.1f}" height="{METER_HEIGHT - 2}" rx="2"/>'
        )
    return "".join(shapes) if value or limit else ""


def _draw_bar(value: int, limit: int) -> str:
    scale = max(value, limit)
    used = (METER_WIDTH - 2) * min(value, limit) / scale
    over = (METER_WIDTH - 2) * max(value - limit, 0) / scale
    height = METER_HEIGHT - 2
    return (
        f'<rect class="free" x="1" y="1" width="{METER_WIDTH - 2}" height="{height}" rx="2"/>'
        f'<rect class="used" x="1" y="1" width="{used:.1f}" height="{height}" rx="2"/>'
        f'<rect class="over" x="{1 + used:.1f}" y="1" width="{over:.1f}" height="{height}"/>'
    )


def draw_bars(unit: str, series: Sequence[Series]) -> str:
    """Return a chart for each series, all with one scale."""
    most = max(max(each.values) for each in series)
    return "".join(_draw_chart(unit, each, most) for each in series)


def _draw_chart(unit: str, series: Series, most: int) -> str:
    inner = CHART_HEIGHT - TOP - BOTTOM
    step = (CHART_WIDTH - LEFT) / len(series.values)
    shapes = []
    for index, value in enumerate(series.values):
        height = max(inner * value / max(most, 1), 1 if value else 0)
        shapes.append(
            f'<rect class="used" x="{LEFT + index * step + 1:.1f}" '
            f'y="{TOP + inner - height:.1f}" width="{step - 2:.1f}" height="{height:.1f}"/>'
        )
    seconds = len(series.values)
    total = sum(series.values)
    said = f"{series.name}: {total} {unit} in {seconds} seconds"
    return (
        f'<svg class="chart" role="img" aria-label="{escape(said)}" '
        f'viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT}">'
        f'<text x="{LEFT}" y="11">{escape(said)}</text>'
        f'<text class="axis" x="{LEFT - 4}" y="{TOP + 8}">{most}</text>'
        f'<text class="axis" x="{LEFT - 4}" y="{TOP + inner}">0</text>'
        f'<line x1="{LEFT}" y1="{TOP + inner}" x2="{CHART_WIDTH}" y2="{TOP + inner}"/>'
        f"{''.join(shapes)}"
        f'<text x="{LEFT}" y="{CHART_HEIGHT - 5}">second 1</text>'
        f'<text class="axis" x="{CHART_WIDTH}" y="{CHART_HEIGHT - 5}">second {seconds}</text>'
        "</svg>"
    )

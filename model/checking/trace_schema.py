"""The published JSON schema of a trace file, made from the shapes that write and read it.

`python -m model.checking.trace_schema > docs/trace.schema.json` writes it anew;
a test holds the file against this module.
"""

import json
import sys
from typing import Any

from model.checking.trace_json import FORMAT, FORMAT_VERSION, TAG, find_report_shape
from model.checking.trace_shapes import (
    VOCABULARIES,
    Choice,
    Fields,
    Items,
    Nothing,
    Scalar,
    Shape,
    Words,
)

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TYPES = {str: "string", int: "integer", bool: "boolean"}


def build_schema() -> dict[str, Any]:
    """Return the schema: one report for each machine, told apart by the machine's name."""
    definitions: dict[str, Any] = {}
    reports = []
    for machine in VOCABULARIES:
        writer = _Writer(machine, definitions)
        reports.append(writer.write_report())
    return {
        "$schema": DIALECT,
        "title": "A trace of admit-one",
        "description": "Actions from an initial state, with the outcome and the state after each; "
        "see docs/traces.md.",
        "type": "object",
        "required": ["format", "version", "trace"],
        "properties": {"trace": {"properties": {"machine": {"enum": list(VOCABULARIES)}}}},
        "oneOf": reports,
        "$defs": dict(sorted(definitions.items())),
    }


class _Writer:
    """Writes the definitions of one machine's types."""

    def __init__(self, machine: str, definitions: dict[str, Any]) -> None:
        self.machine = machine
        self.definitions = definitions

    def write_report(self) -> dict[str, Any]:
        """Return the schema of a report about this machine."""
        body = self._write_fields(find_report_shape(self.machine))
        body["properties"] = {
            "format": {"const": FORMAT},
            "version": {"const": FORMAT_VERSION},
            **body["properties"],
        }
        body["required"] = ["format", "version", *body["required"]]
        self.definitions[f"{self.machine}.Trace"]["properties"]["machine"] = {"const": self.machine}
        return body

    def write(self, shape: Shape) -> dict[str, Any]:
        """Return the schema of a shape; records become definitions, named once."""
        match shape:
            case Nothing():
                return {"type": "null"}
            case Scalar():
                return {"type": _TYPES[shape.kind]}
            case Words():
                return {"enum": [member.value for member in shape.kind]}
            case Items():
                items = {"type": "array", "items": self.write(shape.item)}
                return items | ({"uniqueItems": True} if shape.kind is frozenset else {})
            case Choice():
                return {"oneOf": [self.write(option) for option in shape.options]}
            case Fields():
                return self._refer_to(shape)

    def _refer_to(self, shape: Fields) -> dict[str, Any]:
        name = f"{self.machine}.{shape.kind.__name__}"
        if shape.is_tagged:
            name += ".named"
        if name not in self.definitions:
            self.definitions[name] = {}  # holds the place while its parts are written
            self.definitions[name] = self._write_fields(shape)
        return {"$ref": f"#/$defs/{name}"}

    def _write_fields(self, shape: Fields) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        if shape.is_tagged:
            properties[TAG] = {"const": shape.kind.__name__}
        properties |= {each.name: self.write(each.shape) for each in shape.fields}
        required = [each.name for each in shape.fields if each.is_required]
        return {
            "description": (shape.kind.__doc__ or "").strip().splitlines()[0],
            "type": "object",
            "properties": properties,
            "required": [*([TAG] if shape.is_tagged else []), *required],
            "additionalProperties": False,
        }


def main() -> None:
    """Write the schema to standard output."""
    sys.stdout.write(json.dumps(build_schema(), indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()

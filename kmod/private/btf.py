# SPDX-License-Identifier: GPL-2.0
"""A kernel's types, as `bpftool -j btf dump` lists them, and their text in C."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

VOID = 0
QUALIFIERS = {"CONST": "const", "VOLATILE": "volatile", "RESTRICT": "restrict"}
KEYWORDS = {"STRUCT": "struct", "UNION": "union", "ENUM": "enum", "ENUM64": "enum"}
TAGS = ("TYPE_TAG", "DECL_TAG")
ANONYMOUS = "(anon)"


class BtfError(Exception):
    """The BTF cannot be read, or lacks a type."""


def canonical(text: str) -> str:
    """One spelling for each C type, whatever its spaces: for comparing prototypes."""
    text = " ".join(text.split())
    return re.sub(r" ?([*(),]) ?", r"\1", text)


class Btf:
    """The graph of a kernel's types, by number and by name."""

    def __init__(self, types: list[dict]) -> None:
        self.by_id = {entry["id"]: entry for entry in types}
        self._by_name: dict[tuple[str, str], dict] = {}
        self._enumerators: dict[str, int] = {}
        for entry in types:
            if entry.get("name", ANONYMOUS) != ANONYMOUS:
                self._by_name.setdefault((entry["kind"], entry["name"]), entry)
            for value in entry.get("values", ()) if entry["kind"] in ("ENUM", "ENUM64") else ():
                self._enumerators.setdefault(value["name"], value["val"])

    @classmethod
    def load(cls, path: Path, base: Path | None = None) -> Btf:
        """Read a file with a .BTF section, or raw BTF.

        That of a module has its own types alone, and refers to those of the kernel, `base`.
        """
        of_base = ["-B", str(base)] if base else []
        try:
            dump = subprocess.run(
                ["bpftool", "-j", *of_base, "btf", "dump", "file", str(path)],
                capture_output=True,
                check=False,
            )
        except FileNotFoundError as error:
            raise BtfError("bpftool not found; install the package bpftool.") from error
        if dump.returncode:
            detail = (dump.stderr or dump.stdout).decode(errors="replace").strip()
            raise BtfError(f"bpftool cannot read {path}: {detail}")
        return cls(json.loads(dump.stdout)["types"])

    def named(self, kind: str, name: str) -> dict | None:
        return self._by_name.get((kind, name))

    def tagged(self, name: str) -> dict | None:
        """The struct, union, enum or typedef of that name."""
        for kind in (*KEYWORDS, "TYPEDEF"):
            entry = self.named(kind, name)
            if entry:
                return entry
        return None

    def enumerator(self, name: str) -> int | None:
        return self._enumerators.get(name)

    def strip(self, type_id: int, kinds: tuple[str, ...]) -> dict | None:
        """Follow a type through entries of the given kinds; None is void."""
        while type_id != VOID:
            entry = self.by_id[type_id]
            if entry["kind"] not in kinds:
                return entry
            type_id = entry["type_id"]
        return None

    def members(self, type_id: int, base_bits: int = 0) -> Iterator[tuple[dict, int]]:
        """All members with their offset in bits, those of unnamed members included."""
        for member in self.by_id[type_id].get("members", ()):
            offset = base_bits + member["bits_offset"]
            if member["name"] != ANONYMOUS:
                yield member, offset
                continue
            inner = self.strip(member["type_id"], (*QUALIFIERS, *TAGS))
            if inner and inner["kind"] in ("STRUCT", "UNION"):
                yield from self.members(inner["id"], offset)

    def member(self, struct: str, name: str) -> tuple[dict, int] | None:
        """A member of a named struct with its offset in bits."""
        entry = self.named("STRUCT", struct)
        if not entry:
            return None
        for member, offset in self.members(entry["id"]):
            if member["name"] == name:
                return member, offset
        return None

    # Declarations are built inside out: `inner` is the text around which the type is wrapped.

    def declare(self, type_id: int, inner: str = "") -> str:
        """C text that declares `inner` (a name, or nothing) with this type."""
        if type_id == VOID:
            return f"void {inner}".rstrip()
        entry = self.by_id[type_id]
        kind = entry["kind"]
        if kind in TAGS:
            return self.declare(entry["type_id"], inner)
        if kind in QUALIFIERS:
            return self._qualified(entry, inner)
        if kind == "PTR":
            target = self.strip(entry["type_id"], TAGS)
            wrap = target is not None and target["kind"] in ("ARRAY", "FUNC_PROTO")
            return self.declare(entry["type_id"], f"(*{inner})" if wrap else f"*{inner}")
        if kind == "ARRAY":
            return self.declare(entry["type_id"], f"{inner}[{entry['nr_elems']}]")
        if kind == "FUNC_PROTO":
            parameters = self.parameters(entry, names=False)
            return self.declare(entry["ret_type_id"], f"{inner}({parameters})")
        return f"{self._base(entry)} {inner}".rstrip()

    def _qualified(self, entry: dict, inner: str) -> str:
        qualifier = QUALIFIERS[entry["kind"]]
        target = self.strip(entry["type_id"], TAGS)
        if target is not None and target["kind"] == "PTR":
            return self.declare(target["id"], f"{qualifier} {inner}".rstrip())
        return f"{qualifier} {self.declare(entry['type_id'], inner)}"

    def _base(self, entry: dict) -> str:
        kind, name = entry["kind"], entry["name"]
        if kind == "FWD":
            return f"{entry['fwd_kind']} {name}"
        if kind not in KEYWORDS:
            return name
        if name != ANONYMOUS:
            return f"{KEYWORDS[kind]} {name}"
        if kind in ("ENUM", "ENUM64"):
            # Repeating an unnamed enum would define its constants a second time.
            return "unsigned int" if kind == "ENUM" else "unsigned long long"
        return f"{KEYWORDS[kind]} {{ {' '.join(self.fields(entry['id']))} }}"

    def fields(self, type_id: int) -> list[str]:
        """The declarations of a struct's or union's members."""
        lines = []
        for member in self.by_id[type_id]["members"]:
            name = "" if member["name"] == ANONYMOUS else member["name"]
            width = member.get("bitfield_size", 0)
            text = self.declare(member["type_id"], name)
            lines.append(f"{text}:{width};" if width else f"{text};")
        return lines

    def parameters(self, proto: dict, names: bool) -> str:
        """The parameter list of a function prototype."""
        texts = []
        for position, parameter in enumerate(proto["params"]):
            name = "" if parameter["name"] == ANONYMOUS else parameter["name"]
            if parameter["type_id"] == VOID and position == len(proto["params"]) - 1:
                texts.append("...")
            else:
                texts.append(self.declare(parameter["type_id"], name if names else ""))
        return ", ".join(texts) or "void"

    def prototype(self, type_id: int) -> str:
        """The prototype, without names, of a function or of a pointer or typedef to one."""
        entry = self.strip(type_id, ("FUNC", "PTR", "TYPEDEF", *QUALIFIERS, *TAGS))
        if entry is None or entry["kind"] != "FUNC_PROTO":
            raise BtfError(f"type {type_id} is no function")
        result = self.declare(entry["ret_type_id"])
        space = "" if result.endswith("*") else " "
        return f"{result}{space}({self.parameters(entry, names=False)})"

    def declaration(self, function: dict) -> str:
        """The full declaration, with parameter names, of a FUNC entry."""
        proto = self.by_id[function["type_id"]]
        inner = f"{function['name']}({self.parameters(proto, names=True)})"
        return self.declare(proto["ret_type_id"], inner)

# SPDX-License-Identifier: GPL-2.0
"""Write fgio_private.h: the block layer's private types and functions, as this kernel has them.

The kernel's headers package leaves out what an I/O scheduler needs. It is taken from the type
information (BTF) of the very kernel to build for, after checking that everything fgio relies on
is as expected.toml says. A kernel that differs is refused.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

try:
    import tomllib
except ImportError:
    sys.exit("generate: Python 3.11 or newer is needed (package python3).")

import btf_source
from btf import KEYWORDS, Btf, BtfError, canonical

EXPECTED = Path(__file__).resolve().with_name("expected.toml")

WHAT_TO_DO = """\
The module was not built: the loader would not notice the difference, and the kernel would crash.
What to do:
  - build for a kernel that fgio supports (Debian 12's 6.1 and 6.12), or
  - report the lines above with this kernel's release, or
  - if you maintain fgio: teach its code the new form, then list it in kmod/private/expected.toml.
"""


class UnsupportedKernelError(Exception):
    """The kernel is none of those that expected.toml allows."""


@dataclass
class Findings:
    """Result of comparing a kernel with expected.toml."""

    macros: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)

    def problem(self, what: str, expected: str, found: str) -> None:
        self.problems.append(f"  {what}\n    expected:     {expected}\n    this kernel:  {found}")


def check_prototype(findings: Findings, what: str, accepted: list, found: str | None) -> None:
    """Compare one prototype with the accepted ones; note the macro of the one that fits."""
    texts = []
    for entry in accepted:
        alternative = {"prototype": entry} if isinstance(entry, str) else entry
        texts.append(alternative["prototype"])
        if found is not None and canonical(alternative["prototype"]) == canonical(found):
            if "have" in alternative:
                findings.macros.add(alternative["have"])
            return
    expected = "\n              or  ".join(texts)
    findings.problem(what, expected, "has none of that name" if found is None else found)


def check_prototypes(kernel: Btf, expected: dict, findings: Findings) -> None:
    for name, accepted in expected["operations"].items():
        member = kernel.member("elevator_mq_ops", name)
        found = kernel.prototype(member[0]["type_id"]) if member else None
        check_prototype(findings, f"elevator operation {name}", accepted, found)
    for name, accepted in expected["functions"].items():
        function = kernel.named("FUNC", name)
        found = kernel.prototype(function["id"]) if function else None
        check_prototype(findings, f"function {name}()", accepted, found)
    for name, accepted in expected["tracepoints"].items():
        tracepoint = kernel.named("TYPEDEF", f"btf_trace_{name}")
        found = kernel.prototype(tracepoint["id"]) if tracepoint else None
        check_prototype(findings, f"tracepoint {name}", accepted, found)


def check_members(kernel: Btf, expected: dict, findings: Findings) -> None:
    for path in expected["members"]["required"]:
        if not kernel.member(*path.split(".")):
            findings.problem(f"member {path}", "present", "has no such member")
    for path in expected["members"]["first"]:
        member = kernel.member(*path.split("."))
        if not member or member[1]:
            found = f"at bit {member[1]}" if member else "no such member"
            findings.problem(f"member {path}", "at the beginning", found)
    for path, size in expected["array_size"].items():
        member = kernel.member(*path.split("."))
        found = kernel.declare(member[0]["type_id"]) if member else "no such member"
        if not found.endswith(f"[{size}]"):
            findings.problem(f"member {path}", f"an array of {size}", found)


def find_features(kernel: Btf, expected: dict, findings: Findings) -> None:
    """Note the macros of the members and types that this kernel has."""
    for macro, path in expected["have_member"].items():
        if kernel.member(*path.split(".")):
            findings.macros.add(macro)
    for macro, name in expected["have_type"].items():
        if kernel.tagged(name):
            findings.macros.add(macro)
    for macro, paths in expected["have_union"].items():
        found = [kernel.member(*path.split(".")) for path in paths]
        if None not in found and len({offset for _, offset in found}) == 1:
            findings.macros.add(macro)


def check_limits(kernel: Btf, expected: dict, findings: Findings) -> None:
    for name, limit in expected["limits"].items():
        value = kernel.enumerator(name)
        wanted = f"at most {limit['maximum']} ({limit['why']})"
        if value is None and limit["required"]:
            findings.problem(f"constant {name}", wanted, "has none of that name")
        elif value is not None and value > limit["maximum"]:
            findings.problem(f"constant {name}", wanted, str(value))


def check_types(kernel: Btf, expected: dict, findings: Findings) -> None:
    for name in expected["types"]["copy"]:
        if name not in expected["types"]["optional"] and not kernel.tagged(name):
            findings.problem(f"type {name}", "present", "has none of that name")


def check_exports(symvers: Path, expected: dict, findings: Findings) -> None:
    """Whether modules may call the functions; a missing Module.symvers is modpost's business."""
    if not symvers.is_file():
        return
    exported = {line.split("\t")[1] for line in symvers.read_text().splitlines() if "\t" in line}
    for name in expected["functions"]:
        if name not in exported:
            findings.problem(f"function {name}()", "exported to modules", "does not export it")


def check(kernel: Btf, expected: dict, symvers: Path) -> set[str]:
    """The macros that describe this kernel.

    Raises:
        UnsupportedKernelError: something that fgio relies on is different; lists every difference.
    """
    findings = Findings()
    check_prototypes(kernel, expected, findings)
    check_types(kernel, expected, findings)
    check_members(kernel, expected, findings)
    find_features(kernel, expected, findings)
    check_limits(kernel, expected, findings)
    check_exports(symvers, expected, findings)
    if findings.problems:
        raise UnsupportedKernelError("\n".join(findings.problems))
    return findings.macros


def changed_functions(kernel: Btf, expected: dict) -> list[str]:
    """Probed functions whose prototypes this kernel is known to have changed."""
    changed = []
    for name, accepted in expected["probed"].items():
        function = kernel.named("FUNC", name)
        found = kernel.prototype(function["id"]) if function else None
        if found and canonical(found) not in map(canonical, accepted):
            changed.append(name)
    return changed


class PublicHeaders:
    """Names that the headers package declares itself, which the private header leaves out."""

    def __init__(self, folders: list[Path]) -> None:
        self._texts = [
            path.read_text(errors="replace")
            for folder in folders
            for path in sorted((folder / "linux").rglob("*.h"))
        ]

    def _search(self, pattern: str, word: str) -> bool:
        compiled = re.compile(pattern, re.MULTILINE)
        return any(word in text and compiled.search(text) for text in self._texts)

    def defines_type(self, name: str) -> bool:
        tagged = rf"^(?:struct|union|enum)\s+{name}\s*\{{"
        return self._search(rf"{tagged}|^typedef\s[^;]*\b{name};", name)

    def declares_function(self, name: str) -> bool:
        return self._search(rf"^[a-z][\w\s*]*\b{name}\s*\([^;{{]*\)[^;{{]*[;{{]", name)


def type_definition(kernel: Btf, entry: dict, spelled: dict) -> list[str]:
    """The C definition of a type, with assertions that the compiler gives it the same layout."""
    name = entry["name"]
    if name in spelled:
        return [spelled[name]]
    if entry["kind"] == "TYPEDEF":
        return [f"typedef {kernel.declare(entry['type_id'], name)};"]
    tag = f"{KEYWORDS[entry['kind']]} {name}"
    if "values" in entry:
        values = [f"\t{value['name']} = {value['val']}," for value in entry["values"]]
        return [f"{tag} {{", *values, "};"]
    fields = [f"\t{text}" for text in kernel.fields(entry["id"])]
    return [f"{tag} {{", *fields, "};", *layout_assertions(kernel, entry, tag)]


def layout_assertions(kernel: Btf, entry: dict, tag: str) -> list[str]:
    lines = [f"FGIO_LAYOUT(sizeof({tag}) == {entry['size']});"]
    for member, offset in kernel.members(entry["id"]):
        if not member.get("bitfield_size"):
            lines.append(f"FGIO_LAYOUT(offsetof({tag}, {member['name']}) == {offset // 8});")
    return lines


def size_assertions(kernel: Btf, names: list[str]) -> list[str]:
    lines = ["/* If one of these fails, the type information is not of the kernel in KDIR. */"]
    for name in names:
        entry = kernel.named("STRUCT", name)
        if entry:
            lines.append(f"FGIO_LAYOUT(sizeof(struct {name}) == {entry['size']});")
    return lines


def constants(kernel: Btf, expected: dict, macros: set[str]) -> list[str]:
    lines = []
    for constant in expected["constants"]:
        if "needs" in constant and constant["needs"] not in macros:
            continue
        if "unless" in constant and constant["unless"] in macros:
            continue
        name, value = constant["name"], kernel.enumerator(constant["name"])
        origin = "from BTF" if value is not None else constant["source"]
        text = constant["value"] if value is None else str(value)
        lines += [f"#ifndef {name}", f"#define {name} {text} /* {origin} */", "#endif"]
    return lines


def offsets(types: Btf, paths: dict[str, str]) -> list[str]:
    """The offsets of those members of private structs that there are, and sizes, in bytes.

    A name of no struct is that of an enumerator, whose value it is.
    """
    lines = []
    for macro, path in paths.items():
        struct, _, name = path.partition(".")
        if not name:
            entry = types.named("STRUCT", struct)
            value = entry["size"] if entry else types.enumerator(struct)
        else:
            member = types.member(struct, name)
            value = member[1] // 8 if member else None
        if value is not None:
            lines.append(f"#define {macro} {value} /* {path} */")
    return lines


def offsets_in_modules(
    kernel: Btf, source: Path, kdir: Path, folder: Path, expected: dict
) -> list[str]:
    """The same, of structs of modules. Their BTF builds on that of the kernel, which `source` has.

    `folder` receives modules that are compressed, for as long as they are read.
    """
    lines: list[str] = []
    with tempfile.TemporaryDirectory(dir=folder) as unpacked:
        for name, paths in expected["module_offsets"].items():
            try:
                module = btf_source.find_module(kdir, Path(unpacked), name)
                types = Btf.load(module, base=source) if module else kernel
                found = offsets(types, paths)
                why = "" if found else ": it has none, or is not there"
            except (BtfError, btf_source.SourceError) as error:
                found, why = [], f": {error}"
            if not found and name not in expected["silent_modules"]["names"]:
                print(
                    f"generate: no types of {name}{why}; its I/O is not followed", file=sys.stderr
                )
            lines += found
    return lines


def forward_declarations(lines: list[str]) -> list[str]:
    tags = set(re.findall(r"\b(?:struct|union) \w+", "\n".join(lines)))
    return [f"{tag};" for tag in sorted(tags)]


def names_in_c(names: list[str]) -> str:
    """An initialiser of an array of strings that ends with an empty one."""
    return ", ".join([f'"{name}"' for name in names] + ['""'])


INCLUDES = (
    "generated/utsrelease.h",
    "linux/bio.h",
    "linux/blk-mq.h",
    "linux/blkdev.h",
    "linux/build_bug.h",
    "linux/cgroup-defs.h",
    "linux/ipc.h",
    "linux/kobject.h",
    "linux/list.h",
    "linux/mutex.h",
    "linux/sbitmap.h",
    "linux/stddef.h",
    "linux/sysfs.h",
    "linux/types.h",
    "linux/u64_stats_sync.h",
)


def render(
    kernel: Btf,
    expected: dict,
    macros: set[str],
    public: PublicHeaders,
    release: str,
    in_modules: list[str],
) -> str:
    """The text of fgio_private.h. `in_modules` are the lines of offsets_in_modules()."""
    types: list[str] = []
    for name in expected["types"]["copy"]:
        entry = kernel.tagged(name)
        if entry and not public.defines_type(name):
            types += [*type_definition(kernel, entry, expected["types"]["spelled"]), ""]
    functions = [
        f"extern {kernel.declaration(kernel.named('FUNC', name))};"
        for name in expected["functions"]
        if not public.declares_function(name)
    ]
    sections = [
        [
            "/* SPDX-License-Identifier: GPL-2.0 */",
            f"/* Made by kmod/private/generate.py from the type information of {release}. */",
            "#ifndef FGIO_PRIVATE_H",
            "#define FGIO_PRIVATE_H",
        ],
        [f"#include <{header}>" for header in INCLUDES],
        [
            "/* sparse lays structs out in its own way, and knows fewer constant expressions. */",
            "#ifdef __CHECKER__",
            "#define FGIO_LAYOUT(condition)",
            "#else",
            "#define FGIO_LAYOUT(condition) _Static_assert(condition, #condition)",
            "#endif",
        ],
        [
            f"/* This file describes one kernel: {release}. */",
            f'FGIO_LAYOUT(__builtin_strcmp(UTS_RELEASE, "{release}") == 0);',
        ],
        [f"#define {macro} 1" for macro in sorted(macros)],
        ["#define FGIO_CHANGED_FUNCTIONS " + names_in_c(changed_functions(kernel, expected))],
        constants(kernel, expected, macros),
        offsets(kernel, expected["offsets"]),
        in_modules,
        forward_declarations(types + functions),
        types[:-1],
        size_assertions(kernel, expected["types"]["same_size"]),
        functions,
        ["#endif /* FGIO_PRIVATE_H */"],
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def write_atomically(path: Path, text: str) -> None:
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_text(text)
    partial.replace(path)


def generate(arguments: argparse.Namespace) -> None:
    kdir = arguments.kdir.absolute()
    release = btf_source.kernel_release(kdir)
    expected = tomllib.loads(EXPECTED.read_text())
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    source = btf_source.find(kdir, arguments.output.parent.absolute(), arguments.btf)
    kernel = Btf.load(source)
    try:
        macros = check(kernel, expected, kdir / "Module.symvers")
    except UnsupportedKernelError as error:
        raise UnsupportedKernelError(
            f"the kernel {release} (types from {source}) is not as fgio expects:\n{error}\n"
            + WHAT_TO_DO
        ) from None
    folders = [kdir / "include", *(arguments.headers or ())]
    folder = arguments.output.parent.absolute()
    in_modules = offsets_in_modules(kernel, source, kdir, folder, expected)
    text = render(kernel, expected, macros, PublicHeaders(folders), release, in_modules)
    write_atomically(arguments.output, text)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kdir", type=Path, required=True, help="the kernel's build folder")
    parser.add_argument(
        "--headers",
        type=Path,
        action="append",
        help="further include folders of that kernel (its common headers)",
    )
    parser.add_argument(
        "--btf", help="vmlinux, vmlinuz or raw BTF of that kernel (default: searched for)"
    )
    parser.add_argument("--output", type=Path, required=True, help="the header to write")
    try:
        generate(parser.parse_args(argv))
    except (UnsupportedKernelError, BtfError, btf_source.SourceError, OSError) as error:
        print(f"generate: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

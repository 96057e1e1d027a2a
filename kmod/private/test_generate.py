# SPDX-License-Identifier: GPL-2.0
"""Tests of the private header's generator.

Those on real kernels run for each kernel in the cache (kmod/fetch-kernel 6.12, 6.1); those on
doctored type information need one of them.
"""

from __future__ import annotations

import copy
import os
import subprocess
import tomllib
from pathlib import Path

import btf_source
import generate
import pytest
from btf import Btf, canonical

ROOT = Path(__file__).resolve().parents[2]
CACHE = Path(os.environ.get("FGIO_CACHE", ROOT / "build/cache")) / "kernel"
EXPECTED = tomllib.loads(generate.EXPECTED.read_text())

# The differences between kernel generations, by the kernel's own history.
MACROS = {
    "6.12": {
        "FGIO_HAVE_ALLOC_DATA_CACHED_RQS",
        "FGIO_HAVE_BLKCG_DISK",
        "FGIO_HAVE_BLK_INSERT_T",
        "FGIO_HAVE_ELEVATOR_QUEUE_FLAGS",
        "FGIO_HAVE_IOCOST",
        "FGIO_HAVE_RQ_LIST",
        "FGIO_HAVE_WBT_DISK",
    },
    "6.1": {
        "FGIO_HAVE_ALLOC_DATA_CACHED_RQ",
        "FGIO_HAVE_ELEVATOR_FEATURES",
        "FGIO_HAVE_ELV_FLUSH_UNION",
        "FGIO_HAVE_IOCOST",
        "FGIO_HAVE_RQ_IOPRIO",
    },
}

# By hand from io_uring/io-wq.c, sqpoll.c and tctx.h, fs/iomap/direct-io.c, fs/backing-file.c,
# block/fops.c, fs/aio.c and kernel/workqueue.c, for x86-64 as Debian configures it.
ALIKE = {
    "FGIO_IO_TCTX_NODE_RING": 0,
    "FGIO_IO_TCTX_NODE_TASK": 16,
    "FGIO_IOMAP_DIO_IOCB": 0,
    "FGIO_BLKDEV_DIO_IOCB": 0,
    "FGIO_BLKDEV_DIO_BIO": 64,
    "FGIO_AIO_KIOCB_RW": 0,
    "FGIO_AIO_KIOCB_FSYNC": 0,
    "FGIO_FSYNC_IOCB_WORK": 8,
    "FGIO_AIO_KIOCB_CONTEXT": 96,
    "FGIO_KTHREAD_DATA": 24,
    "FGIO_WORKER_WORK": 16,
    "FGIO_KIOCTX_USER_ID": 40,
    "FGIO_KIOCTX_TABLE_COUNT": 16,
    "FGIO_KIOCTX_TABLE_ENTRIES": 24,
}
OFFSETS = {
    "6.12": {
        "FGIO_IO_WORKER_WORK": 64,
        "FGIO_IO_WORKER_WQ": 56,
        "FGIO_IO_WQ_TASK": 96,
        "FGIO_IO_SQ_DATA_THREAD": 64,
        "FGIO_BACKING_AIO_IOCB": 0,
        "FGIO_BACKING_AIO_ORIGINAL": 56,
        **ALIKE,
    },
    "6.1": {
        "FGIO_IO_WORKER_WORK": 56,
        "FGIO_IO_WORKER_WQE": 48,
        "FGIO_IO_WQE_WQ": 176,
        "FGIO_IO_WQ_TASK": 96,
        "FGIO_IO_SQ_DATA_THREAD": 56,
        **ALIKE,
    },
}


# By hand from drivers/md: dm-core.h, dm-crypt.c, md.c or md.h, raid1.h, raid10.h and raid5.h; and
# from fs/btrfs: transaction.h, ordered-data.h, extent_io.h, bio.h. Those of long structs of btrfs,
# and those of fs/fuse, are the modules'. From drivers/block/loop.c by hand.
ALIKE_IN_MODULES = {
    "FGIO_DM_TARGET_IO_CLONE": 40,
    "FGIO_DM_TARGET_IO_IO": 8,
    "FGIO_DM_IO_ORIGINAL": 64,
    "FGIO_DM_CRYPT_IO_BASE": 8,
    "FGIO_STRIPE_DISKS": 88,
    "FGIO_STRIPE_DEVICES": 224,
    "FGIO_R5DEV_SIZE": 368,
    "FGIO_R5DEV_REQ": 0,
    "FGIO_R5DEV_VEC": 256,
    "FGIO_R5DEV_RREQ": 128,
    "FGIO_R5DEV_RVEC": 272,
    "FGIO_R5DEV_TOREAD": 312,
    "FGIO_R5DEV_READ": 320,
    "FGIO_R5DEV_TOWRITE": 328,
    "FGIO_R5DEV_WRITTEN": 336,
    "FGIO_R5DEV_SECTOR": 344,
    "FGIO_BTRFS_TRANSACTION_STATE": 32,
    "FGIO_BTRFS_TRANSACTION_WRITERS": 12,
    "FGIO_BTRFS_ROOT_LOG": 40,
    "FGIO_BTRFS_ROOT_LOG_PAGES": 528,
    "FGIO_BTRFS_ORDERED_BEGIN": 0,
    "FGIO_ARRAY_FLAGS": 48,
    "FGIO_ARRAY_IS_CHANGING": 2,
    "FGIO_BTRFS_ORDERED_BYTES": 8,
    "FGIO_BTRFS_LEAF_BEGIN": 0,
    "FGIO_BTRFS_LEAF_BYTES": 8,
    "FGIO_BTRFS_LEAF_FS": 24,
    "FGIO_BTRFS_BIO_PRIVATE": 120,
    "FGIO_LOOP_ROOT_WORK": 136,
    "FGIO_LOOP_WORKER_WORK": 24,
    "FGIO_LOOP_WORKER_LOOP": 88,
    "FGIO_LOOP_FILE": 96,
    "FGIO_LOOP_COMMAND_IOCB": 32,
    "FGIO_FUSE_COPY_TO_DAEMON": 0,
    "FGIO_FUSE_COPY_REQUEST": 8,
    "FGIO_FUSE_REQUEST_FLAGS": 48,
    "FGIO_FUSE_REQUEST_HEADER": 56,
    "FGIO_FUSE_REQUEST_MOUNT": 144,
    "FGIO_FUSE_REQUEST_IS_PENDING": 7,
    "FGIO_FUSE_MOUNT_CONNECTION": 0,
    "FGIO_FUSE_CONNECTION_BLOCKED": 264,
    "FGIO_FUSE_INODE_INODE": 0,
}
MODULE_OFFSETS = {
    "6.12": {
        "FGIO_MD_IO_CLONE_ORIGINAL": 8,
        "FGIO_ARRAY_IS_CLEAN": 500,
        "FGIO_R1BIO_MASTER": 40,
        "FGIO_R10BIO_MASTER": 40,
        "FGIO_BTRFS_HANDLE_TRANSACTION": 48,
        "FGIO_BTRFS_COMMITS": 2,
        "FGIO_BTRFS_FS_RUNNING": 576,
        "FGIO_BTRFS_FS_TREES": 712,
        "FGIO_BTRFS_ORDERED_INODE": 88,
        "FGIO_BTRFS_INODE_INODE": 392,
        "FGIO_BTRFS_BIO_BIO": 184,
        "FGIO_BTRFS_DIO_BBIO": 16,
        "FGIO_FUSE_INODE_NODE": 624,
        "FGIO_FUSE_INODE_WRITES": 728,
        **ALIKE_IN_MODULES,
    },
    "6.1": {
        "FGIO_MD_IO_ACCT_ORIGINAL": 0,
        "FGIO_ARRAY_IS_CLEAN": 468,
        "FGIO_R1BIO_MASTER": 48,
        "FGIO_R10BIO_MASTER": 48,
        "FGIO_BTRFS_HANDLE_TRANSACTION": 32,
        "FGIO_BTRFS_COMMITS": 1,
        "FGIO_BTRFS_FS_RUNNING": 608,
        "FGIO_BTRFS_FS_TREES": 744,
        "FGIO_BTRFS_ORDERED_INODE": 96,
        "FGIO_BTRFS_INODE_INODE": 520,
        "FGIO_BTRFS_BIO_BIO": 160,
        "FGIO_BTRFS_DIO_ORIGINAL": 32,
        "FGIO_FUSE_INODE_NODE": 632,
        "FGIO_FUSE_INODE_WRITES": 720,
        "FGIO_OVERLAY_AIO_IOCB": 0,
        "FGIO_OVERLAY_AIO_ORIGINAL": 56,
        **ALIKE_IN_MODULES,
    },
}


def by_macro(lines: list[str]) -> dict[str, int]:
    return {line.split()[1]: int(line.split()[2]) for line in lines}


def kdir_of(version: str) -> Path:
    kdir = CACHE / version / "build"
    if not (kdir / "Makefile").is_file():
        pytest.skip(f"no kernel {version} in the cache; run kmod/fetch-kernel {version}")
    return kdir


def common_headers(kdir: Path) -> Path:
    (common,) = kdir.resolve().parent.glob("linux-headers-*-common")
    return common / "include"


@pytest.fixture(scope="module", params=["6.12", "6.1"])
def version(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def kdir(version: str) -> Path:
    return kdir_of(version)


@pytest.fixture(scope="module")
def kernel(kdir: Path, tmp_path_factory: pytest.TempPathFactory) -> Btf:
    return Btf.load(btf_source.find(kdir, tmp_path_factory.mktemp("btf")))


@pytest.fixture
def doctored(kernel: Btf) -> Btf:
    """The kernel's types; names, constants and the elevator's operations are free to change."""
    result = copy.copy(kernel)
    operations = copy.deepcopy(kernel.named("STRUCT", "elevator_mq_ops"))
    result.by_id = kernel.by_id | {operations["id"]: operations}
    result._by_name = kernel._by_name | {("STRUCT", "elevator_mq_ops"): operations}
    result._enumerators = dict(kernel._enumerators)
    return result


def problems(kernel: Btf) -> str:
    with pytest.raises(generate.UnsupportedKernelError) as refusal:
        generate.check(kernel, EXPECTED, Path("no-symvers"))
    return str(refusal.value)


def operation(kernel: Btf, name: str) -> dict:
    """The FUNC_PROTO of an elevator operation, as an entry of its own."""
    member, _ = kernel.member("elevator_mq_ops", name)
    pointer = kernel.strip(member["type_id"], ())
    proto = copy.deepcopy(kernel.by_id[pointer["type_id"]])
    proto["id"] = max(kernel.by_id) + 1
    own_pointer = {**pointer, "id": proto["id"] + 1, "type_id": proto["id"]}
    kernel.by_id |= {proto["id"]: proto, own_pointer["id"]: own_pointer}
    member["type_id"] = own_pointer["id"]
    return proto


def test_macros_of_each_kernel(kernel: Btf, version: str, kdir: Path) -> None:
    assert generate.check(kernel, EXPECTED, kdir / "Module.symvers") == MACROS[version]


def test_offsets_of_each_kernel(kernel: Btf, version: str) -> None:
    """A member that a kernel lacks has no macro."""
    assert by_macro(generate.offsets(kernel, EXPECTED["offsets"])) == OFFSETS[version]


def test_offsets_in_modules_of_each_kernel(
    kernel: Btf, kdir: Path, version: str, tmp_path: Path
) -> None:
    source = btf_source.find(kdir, tmp_path)
    lines = generate.offsets_in_modules(kernel, source, kdir, tmp_path, EXPECTED)
    assert by_macro(lines) == MODULE_OFFSETS[version]


def test_a_module_that_is_not_there_is_said_unless_few_need_it(
    kernel: Btf, kdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    offset = {"FGIO_DM": "dm_io.orig_bio"}
    expected = {
        "module_offsets": {"dm-mood": offset, "dm-rest": offset},
        "silent_modules": {"names": ["dm-rest"]},
    }
    source = btf_source.find(kdir, tmp_path)
    assert not generate.offsets_in_modules(kernel, source, kdir, tmp_path, expected)
    said = capsys.readouterr().err
    assert "no types of dm-mood" in said
    assert "dm-rest" not in said


def test_release_is_the_one_that_modules_see(kdir: Path, version: str) -> None:
    assert btf_source.kernel_release(kdir) == (CACHE / version / "release").read_text().strip()


def test_header_has_all_and_compiles(kdir: Path, tmp_path: Path) -> None:
    """The header's own assertions compare every offset with the compiler's."""
    source = tmp_path / "source.c"
    source.write_text('#include "fgio_private.h"\nMODULE_LICENSE("GPL");\n')
    (tmp_path / "Kbuild").write_text(
        "obj-m := source.o\nccflags-y := -I$(src) -include linux/module.h\n"
    )
    header = tmp_path / "fgio_private.h"
    arguments = ["--kdir", str(kdir), "--headers", str(common_headers(kdir))]
    assert generate.main([*arguments, "--output", str(header)]) == 0
    text = header.read_text()
    for name in EXPECTED["functions"]:
        assert f"{name}(" in text
    build = subprocess.run(
        ["make", "-C", kdir, f"M={tmp_path}", "W=1", "KCFLAGS=-Werror", "source.o"],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert build.returncode == 0, build.stderr


def test_other_kernels_headers_are_refused_by_the_compiler(kdir: Path, tmp_path: Path) -> None:
    arguments = ["--kdir", str(kdir), "--output", str(tmp_path / "fgio_private.h")]
    assert generate.main(arguments) == 0
    text = (tmp_path / "fgio_private.h").read_text()
    assert "FGIO_LAYOUT(sizeof(struct request) ==" in text
    assert "FGIO_LAYOUT(__builtin_strcmp(UTS_RELEASE," in text


def test_changed_argument_is_refused(doctored: Btf) -> None:
    proto = operation(doctored, "insert_requests")
    proto["params"][2] = proto["params"][0]
    text = problems(doctored)
    assert "elevator operation insert_requests" in text
    assert "void (struct blk_mq_hw_ctx *, struct list_head *, blk_insert_t)" in text
    assert "this kernel:  void (struct blk_mq_hw_ctx *, struct list_head *, " in text


def test_extra_argument_is_refused(doctored: Btf) -> None:
    proto = operation(doctored, "limit_depth")
    proto["params"].append(proto["params"][0])
    assert "elevator operation limit_depth" in problems(doctored)


def test_changed_result_is_refused(doctored: Btf) -> None:
    operation(doctored, "has_work")["ret_type_id"] = 0
    assert "this kernel:  void (struct blk_mq_hw_ctx *)" in problems(doctored)


def test_missing_function_is_named(doctored: Btf) -> None:
    del doctored._by_name["FUNC", "elv_register"]
    text = problems(doctored)
    assert "function elv_register()" in text
    assert "has none of that name" in text


def test_member_that_begins_its_struct_no_more_is_refused(doctored: Btf) -> None:
    array = copy.deepcopy(doctored.named("STRUCT", "sem_array"))
    array["members"][0]["bits_offset"] = 64
    doctored.by_id[array["id"]] = array
    doctored._by_name["STRUCT", "sem_array"] = array
    text = problems(doctored)
    assert "member sem_array.sem_perm" in text
    assert "at bit 64" in text


def test_every_difference_is_reported_at_once(doctored: Btf) -> None:
    operation(doctored, "has_work")["ret_type_id"] = 0
    operation(doctored, "bio_merge")["ret_type_id"] = 0
    text = problems(doctored)
    assert "has_work" in text
    assert "bio_merge" in text


def test_new_generation_selects_its_macro(doctored: Btf) -> None:
    proto = operation(doctored, "depth_updated")
    queue, _ = doctored.member("blk_mq_alloc_data", "q")
    proto["params"][0]["type_id"] = queue["type_id"]
    macros = generate.check(doctored, EXPECTED, Path("no-symvers"))
    assert "FGIO_HAVE_DEPTH_UPDATED_QUEUE" in macros


def test_full_flag_word_is_refused(doctored: Btf) -> None:
    doctored._enumerators["__REQ_NR_BITS"] = 30
    text = problems(doctored)
    assert "constant __REQ_NR_BITS" in text
    assert "at most 29" in text


def test_function_that_is_not_exported_is_refused(kernel: Btf, kdir: Path, tmp_path: Path) -> None:
    symvers = (kdir / "Module.symvers").read_text().splitlines(keepends=True)
    stripped = tmp_path / "Module.symvers"
    stripped.write_text("".join(line for line in symvers if "\televator_alloc\t" not in line))
    with pytest.raises(generate.UnsupportedKernelError, match="does not export it"):
        generate.check(kernel, EXPECTED, stripped)


def test_message_says_what_to_do(
    kdir: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = tmp_path / "expected.toml"
    table.write_text(
        generate.EXPECTED.read_text().replace(
            'has_work = ["bool (struct blk_mq_hw_ctx *)"]', 'has_work = ["int (void)"]'
        )
    )
    monkeypatch.setattr(generate, "EXPECTED", table)
    output = tmp_path / "fgio_private.h"
    assert generate.main(["--kdir", str(kdir), "--output", str(output)]) == 1
    message = capsys.readouterr().err
    assert btf_source.kernel_release(kdir) in message
    assert "elevator operation has_work" in message
    assert "What to do:" in message
    assert not output.exists()


def test_image_gives_the_types_of_its_own_release_only(version: str, tmp_path: Path) -> None:
    """Reads both compressions in use: zstd (6.12) and xz (6.1)."""
    release = btf_source.kernel_release(kdir_of(version))
    image = CACHE / version / f"boot/vmlinuz-{release}"
    output = tmp_path / "raw"
    btf_source.extract_from_image(image, output, release)
    assert Btf.load(output).member("elevator_mq_ops", "insert_requests")
    with pytest.raises(btf_source.SourceError, match=r"is not the kernel 1\.2\.3"):
        btf_source.extract_from_image(image, tmp_path / "other", "1.2.3")
    assert not (tmp_path / "other").exists()


def test_no_kernel_folder(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    output = str(tmp_path / "fgio_private.h")
    assert generate.main(["--kdir", str(tmp_path), "--output", output]) == 1
    assert "is no kernel build folder" in capsys.readouterr().err


def test_no_types_anywhere(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    header = tmp_path / "include/generated/utsrelease.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define UTS_RELEASE "6.1.0-0-none"\n')
    output = str(tmp_path / "fgio_private.h")
    assert generate.main(["--kdir", str(tmp_path), "--output", output]) == 1
    message = capsys.readouterr().err
    assert "no type information (BTF) found for the kernel 6.1.0-0-none" in message
    assert "pass BTF=" in message


def test_file_without_btf(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    header = tmp_path / "include/generated/utsrelease.h"
    header.parent.mkdir(parents=True)
    header.write_text('#define UTS_RELEASE "6.1.0-0-none"\n')
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"x" * 4096)
    arguments = ["--kdir", str(tmp_path), "--btf", str(garbage)]
    assert generate.main([*arguments, "--output", str(tmp_path / "fgio_private.h")]) == 1
    assert "bpftool cannot read" in capsys.readouterr().err


TYPES = Btf(
    [
        {"id": 1, "kind": "INT", "name": "int"},
        {"id": 2, "kind": "INT", "name": "char"},
        {"id": 3, "kind": "CONST", "name": "(anon)", "type_id": 2},
        {"id": 4, "kind": "PTR", "name": "(anon)", "type_id": 3},
        {"id": 5, "kind": "CONST", "name": "(anon)", "type_id": 4},
        {"id": 6, "kind": "ARRAY", "name": "(anon)", "type_id": 4, "nr_elems": 3},
        {"id": 7, "kind": "PTR", "name": "(anon)", "type_id": 6},
        {
            "id": 8,
            "kind": "FUNC_PROTO",
            "name": "(anon)",
            "ret_type_id": 4,
            "params": [{"name": "first", "type_id": 1}, {"name": "(anon)", "type_id": 0}],
        },
        {"id": 9, "kind": "PTR", "name": "(anon)", "type_id": 8},
        {"id": 10, "kind": "ARRAY", "name": "(anon)", "type_id": 9, "nr_elems": 2},
        {"id": 11, "kind": "FUNC_PROTO", "name": "(anon)", "ret_type_id": 0, "params": []},
        {
            "id": 12,
            "kind": "UNION",
            "name": "(anon)",
            "members": [
                {"name": "left", "type_id": 1, "bits_offset": 0},
                {"name": "right", "type_id": 1, "bits_offset": 0},
            ],
        },
        {
            "id": 13,
            "kind": "STRUCT",
            "name": "outer",
            "members": [
                {"name": "bits", "type_id": 1, "bits_offset": 0, "bitfield_size": 3},
                {"name": "(anon)", "type_id": 12, "bits_offset": 32},
            ],
        },
        {"id": 14, "kind": "TYPE_TAG", "name": "user", "type_id": 3},
        {"id": 15, "kind": "PTR", "name": "(anon)", "type_id": 14},
    ]
)


@pytest.mark.parametrize(
    ("type_id", "text"),
    [
        (1, "int name"),
        (4, "const char *name"),
        (5, "const char *const name"),
        (6, "const char *name[3]"),
        (7, "const char *(*name)[3]"),
        (9, "const char *(*name)(int, ...)"),
        (10, "const char *(*name[2])(int, ...)"),
        (11, "void name(void)"),
        (13, "struct outer name"),
        (15, "const char *name"),
    ],
)
def test_declarations(type_id: int, text: str) -> None:
    assert TYPES.declare(type_id, "name") == text


def test_members_of_unnamed_members_count() -> None:
    offsets = {member["name"]: offset for member, offset in TYPES.members(13)}
    assert offsets == {"bits": 0, "left": 32, "right": 32}
    assert TYPES.fields(13) == ["int bits:3;", "union { int left; int right; };"]


def test_prototypes_compare_whatever_their_spaces() -> None:
    assert canonical("struct a * ( struct b*,int )") == canonical("struct a *(struct b *, int)")
    assert canonical("unsigned  int") != canonical("unsignedint")


def test_probed_functions_are_as_expected(kernel: Btf) -> None:
    assert generate.changed_functions(kernel, EXPECTED) == []
    present = [name for name in EXPECTED["probed"] if kernel.named("FUNC", name)]
    assert len(present) > len(EXPECTED["probed"]) // 2


def test_a_probed_function_that_changed_is_named(kernel: Btf) -> None:
    expected = EXPECTED | {"probed": {"futex_wake": ["int (void)"], "no_such": ["int (void)"]}}
    assert generate.changed_functions(kernel, expected) == ["futex_wake"]
    assert generate.names_in_c(["futex_wake"]) == '"futex_wake", ""'

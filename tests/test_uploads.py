"""Uploads: a good artifact comes in whole, and nothing else comes in at all."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from observatory import archives, artifacts, links, uploads
from observatory.archives import Limits
from observatory.errors import DescriptorRefused, InputError, TamperedError
from observatory.store import Store
from tests.conftest import ROOT

ROW = ROOT / "data" / "published" / "published-row-1.8"
SMALL = Limits(packed=200_000, unpacked=300_000, one_file=150_000, files=8)


def zipped(*entries: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    return buffer.getvalue()


def tarred(*entries: tuple[str | tarfile.TarInfo, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", format=form) as archive:
        for entry, content in entries:
            member = entry if isinstance(entry, tarfile.TarInfo) else tarfile.TarInfo(entry)
            if member.isreg():
                member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def files_of(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def tar_of(folder: Path, name: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        archive.add(folder, name)
    return buffer.getvalue()


PACKINGS: dict[str, Callable[[Path], bytes]] = {
    "zip with a top folder": archives.pack,
    "zip of the files alone": lambda f: zipped(*((n, c) for n, c in files_of(f).items())),
    "tar.gz with a top folder": lambda f: tar_of(f, "any-name"),
    "tar.gz of ./": lambda f: tar_of(f, "."),
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_packed_artifact_comes_in_whole(packing: str, tmp_path: Path) -> None:
    artifact, new = uploads.receive(PACKINGS[packing](ROW), "row.zip", tmp_path / "store")
    assert new and artifact.id == ROW.name and artifact.path == tmp_path / "store" / ROW.name
    assert files_of(tmp_path / "store" / ROW.name) == files_of(ROW)
    assert [p.name for p in (tmp_path / "store").iterdir()] == [ROW.name], "nothing else is left"
    assert list(Store(tmp_path / "store", ()).artifacts()["artifact_id"]) == [ROW.name]
    assert all(stat.S_IMODE(p.stat().st_mode) & 0o111 == 0 for p in (tmp_path / "store" / ROW.name).iterdir())


def test_packing_is_the_same_to_the_byte_and_checks_the_lock(tmp_path: Path) -> None:
    assert archives.pack(ROW) == archives.pack(ROW)
    shutil.copytree(ROW, tmp_path / "row")
    (tmp_path / "row" / "artifact.json").write_text("{}")
    with pytest.raises(TamperedError):
        archives.pack(tmp_path / "row")


def member(name: str, kind: bytes, target: str = "/etc/passwd") -> tarfile.TarInfo:
    found = tarfile.TarInfo(name)
    found.type, found.linkname = kind, target
    return found


def zip_mode(name: str, mode: int) -> zipfile.ZipInfo:
    found = zipfile.ZipInfo(name)
    found.create_system, found.external_attr = 3, mode << 16
    return found


def lying_zip() -> bytes:
    """A zip that says its file unpacks to 10 bytes."""
    raw = bytearray(zipped(("artifact.json", b"0" * 500_000)))
    for mark, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = raw.index(mark)
        raw[at + offset : at + offset + 4] = struct.pack("<I", 10)
    return bytes(raw)


def encrypted_zip() -> bytes:
    raw = bytearray(zipped(("artifact.json", b"{}")))
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.index(mark)
        raw[at + offset] |= 1
    return bytes(raw)


def sparse_tar() -> bytes:
    """GNU sparse: a header that claims a terabyte and carries nothing."""
    entry = tarfile.TarInfo("artifact.json")
    header = bytearray(entry.tobuf(tarfile.GNU_FORMAT))
    header[156:157] = tarfile.GNUTYPE_SPARSE
    header[483:495] = b"\x80" + (10**12).to_bytes(11, "big")
    header[148:156] = b" " * 8
    header[148:156] = f"{sum(header):06o}\0 ".encode()
    return gzip.compress(bytes(header) + b"\0" * 1024)


OUT = "leads out of its folder"
SPECIAL = "a link, a device"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "zip slip": (zipped(("../evil.txt", b"x")), OUT), "zip slip inside": (zipped(("a/../../evil.txt", b"x")), OUT),
    "zip absolute": (zipped(("/tmp/evil.txt", b"x")), OUT), "zip drive": (zipped(("C:evil.txt", b"x")), OUT),
    "zip backslash": (zipped(("..\\evil.txt", b"x")), OUT), "zip control": (zipped(("a\x1b[31m", b"x")), OUT),
    "zip deep": (zipped(("a/b/c/d/e/f.txt", b"x")), OUT), "zip long": (zipped(("a" * 300, b"x")), OUT),
    "zip link": (zipped((zip_mode("artifact.json", stat.S_IFLNK | 0o777), b"/etc/passwd")), SPECIAL),
    "zip device": (zipped((zip_mode("artifact.json", stat.S_IFCHR | 0o644), b"")), SPECIAL),
    "zip twice": (zipped(("a.json", b"1"), ("./a.json", b"2")), "a name twice"), "zip encrypted": (encrypted_zip(), "encrypted"),
    "zip file and folder": (zipped(("a", b"1"), ("a/b", b"2")), "cannot be unpacked"),
    "zip too many": (zipped(*((f"f{i}", b"") for i in range(9))), "more than 8 files"),
    "zip far too many": (zipped(*((f"f{i}", b"") for i in range(400))), "more than 8 files"),
    "zip bomb": (zipped(("artifact.json", b"0" * 160_000)), "unpacks to more than"),
    "zip bomb of many": (zipped(*((f"f{i}", b"0" * 140_000) for i in range(3))), "unpacks to more than"),
    "zip that lies": (lying_zip(), "damaged|unpacks to more than"),
    "tar slip": (tarred(("../evil.txt", b"x")), OUT), "tar absolute": (tarred(("/tmp/evil.txt", b"x")), OUT),
    "tar symlink": (tarred((member("a", tarfile.SYMTYPE), b"")), SPECIAL), "tar hard link": (tarred((member("a", tarfile.LNKTYPE), b"")), SPECIAL),
    "tar device": (tarred((member("a", tarfile.CHRTYPE), b"")), SPECIAL), "tar block device": (tarred((member("a", tarfile.BLKTYPE), b"")), SPECIAL),
    "tar fifo": (tarred((member("a", tarfile.FIFOTYPE), b"")), SPECIAL), "tar sparse": (sparse_tar(), SPECIAL),
    "tar bomb": (tarred(("artifact.json", b"0" * 160_000)), "unpacks to more than"),
    "tar bomb of many": (tarred(*((f"f{i}", b"0" * 140_000) for i in range(3))), "unpacks to more than"),
    "tar header bomb": (tarred(("a" * 900_000, b"x")), "unpacks to more than"),
    "tar too many": (tarred(*((f"f{i}", b"") for i in range(9))), "more than 8 files"),
    "gzip of no tar": (gzip.compress(b"hello" * 500), "damaged"), "gzip cut off": (tarred(("artifact.json", b"{}" * 999))[:-30], "damaged"),
    "gzip of nothing": (gzip.compress(b""), "damaged"),
    "zip cut off": (archives.pack(ROW)[:-40], "damaged"), "zip begun": (archives.pack(ROW)[:900], "damaged"),
    "not an archive": (b"hello", "neither a zip nor"), "nothing": (b"", "neither a zip nor"),
    "larger than the cap": (b"PK\x03\x04" + b"0" * 200_000, "is larger than"),
    "no artifact": (zipped(("readme.txt", b"x")), r"no artifact\.json"), "empty zip": (zipped(), r"no artifact\.json"),
    "two folders": (zipped(("a/artifact.json", b"{}"), ("b/artifact.json", b"{}")), r"no artifact\.json"),
    "no JSON": (zipped(("artifact.json", b"{")), r"up\.zip: artifact\.json: cannot be read as JSON"),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused_in_a_sentence_and_leave_nothing(kind: str, tmp_path: Path) -> None:
    raw, words = HOSTILE[kind]
    outside = set(tmp_path.iterdir())
    with pytest.raises(InputError, match=words) as refused:
        uploads.receive(raw, "up.zip", tmp_path / "store", limits=SMALL)
    assert str(refused.value).startswith("up.zip") and ".tmp-" not in str(refused.value) and "\n" not in str(refused.value)
    assert set(tmp_path.iterdir()) - outside == {tmp_path / "store"}
    assert list((tmp_path / "store").iterdir()) == [] and not Path("/tmp/evil.txt").exists()


@pytest.mark.parametrize("cut", range(0, 4000, 97))
def test_cut_and_changed_archives_never_end_in_another_error(cut: int, tmp_path: Path) -> None:
    whole = archives.pack(ROW)
    at = cut * len(whole) // 4000
    for raw in (whole[:at], whole[:at] + b"\xff\x00" + whole[at + 2 :]):
        try:
            artifact, _ = uploads.receive(raw, "up.zip", tmp_path / "store")
        except (InputError, TamperedError, DescriptorRefused):
            assert not (tmp_path / "store" / ROW.name).exists()
        else:
            assert artifact.locked and files_of(tmp_path / "store" / ROW.name) == files_of(ROW)
            shutil.rmtree(tmp_path / "store")


def test_a_refused_artifact_is_not_kept_and_every_fault_is_told(tmp_path: Path) -> None:
    manifest = json.loads((ROW / "artifact.json").read_text())
    for block in manifest["margin_sets"].values():
        del block["descriptor"]["scorer"]["dtype"]
    with pytest.raises(DescriptorRefused) as refused:
        uploads.receive(zipped(("artifact.json", json.dumps(manifest).encode())), "up.zip", tmp_path / "store")
    assert len(refused.value.faults) == 4 and all("scorer.dtype" in f for f in refused.value.faults)
    with pytest.raises(TamperedError) as tampered:
        uploads.receive(zipped(*(files_of(ROW) | {"more.txt": b"x"}).items()), "up.zip", tmp_path / "store")
    assert tampered.value.files == ("more.txt",)
    assert list((tmp_path / "store").iterdir()) == [] and Store(tmp_path / "store", ()).quarantine().empty


@pytest.mark.parametrize("name", ["links", "ledgers", "Links"])
def test_names_that_the_store_keeps_for_itself(name: str, tmp_path: Path) -> None:
    manifest = json.loads((ROW / "artifact.json").read_text()) | {"id": name}
    with pytest.raises(InputError, match="keeps for itself"):
        uploads.receive(zipped(("artifact.json", json.dumps(manifest).encode())), "up.zip", tmp_path)


def test_the_same_again_is_no_error_and_another_of_that_name_is(tmp_path: Path) -> None:
    uploads.receive(archives.pack(ROW), "up.zip", tmp_path)
    assert uploads.receive(archives.pack(ROW), "up.zip", tmp_path)[1] is False
    assert uploads.receive(archives.pack(ROW), "up.zip", tmp_path / "other", {ROW.name: ROW})[1] is False
    unlocked = zipped(*((n, c) for n, c in files_of(ROW).items() if n != "lock.json"))
    with pytest.raises(InputError, match="another artifact"):
        uploads.receive(unlocked, "up.zip", tmp_path)
    (tmp_path / ROW.name / "artifact.json").write_text("{}")
    with pytest.raises(InputError, match="the store refuses"):
        uploads.receive(archives.pack(ROW), "up.zip", tmp_path)


def test_uploads_at_once_do_not_clash(tmp_path: Path) -> None:
    (tmp_path / "row.zip").write_bytes(archives.pack(ROW))
    code = (
        "import sys; from pathlib import Path; from observatory import uploads\n"
        "print(uploads.receive(Path(sys.argv[1]).read_bytes(), 'up.zip', Path(sys.argv[2]))[1])"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "row.zip"), str(tmp_path / "store")]
    running = [subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) for _ in range(5)]
    said = [r.communicate(timeout=60)[0].strip() for r in running]
    assert sorted(said) == ["False"] * 4 + ["True"]
    assert files_of(tmp_path / "store" / ROW.name) == files_of(ROW) and len(list((tmp_path / "store").iterdir())) == 1


def test_a_link_is_checked_and_a_refused_one_lands_in_quarantine(tmp_path: Path) -> None:
    assert uploads.link(ROW, tmp_path / "store").id == ROW.name
    assert links.all_linked(tmp_path / "store") == [ROW]
    with pytest.raises(InputError, match="no artifact folder"):
        uploads.link(tmp_path, tmp_path / "store")
    shutil.copytree(ROW, tmp_path / "bad")
    (tmp_path / "bad" / artifacts.MANIFEST).write_text("{}")
    with pytest.raises(TamperedError):
        uploads.link(tmp_path / "bad", tmp_path / "store")
    assert list(Store(tmp_path / "store", ()).quarantine()["artifact_id"]) == ["bad"]

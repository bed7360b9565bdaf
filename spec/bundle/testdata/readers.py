# Reads archives as Python's zipfile and tarfile do. Over stdin come requests, each a line
# "FORMAT LENGTH" with LENGTH bytes behind it; each is answered by a line of JSON: {"entries":
# [[path, kind, sha256]]} of what is not a directory, or {"error": text}.
import hashlib, io, json, stat, sys, tarfile, zipfile


def read_zip(data):
    out = []
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        for i in z.infolist():
            if i.is_dir():
                continue
            mode = i.external_attr >> 16 if i.create_system in (3, 19) else 0
            kind = "l" if stat.S_ISLNK(mode) else "x" if mode & 0o111 else "-"
            out.append([i.filename, kind, hashlib.sha256(z.read(i)).hexdigest()])
    return out


def read_tar(data):
    out = []
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:*") as t:
        for m in t.getmembers():
            if m.isdir():
                continue
            if m.issym():
                kind, content = "l", m.linkname.encode("utf-8", "surrogateescape")
            elif m.type in (tarfile.REGTYPE, tarfile.AREGTYPE):
                kind, content = "x" if m.mode & 0o111 else "-", t.extractfile(m).read()
                if len(content) != m.size:
                    raise ValueError("cut short")
            else:
                kind, content = repr(m.type), b""
            name = m.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
            out.append([name, kind, hashlib.sha256(content).hexdigest()])
    return out


while line := sys.stdin.buffer.readline():
    form, length = line.split()
    data = sys.stdin.buffer.read(int(length))
    try:
        answer = {"entries": (read_zip if form == b"zip" else read_tar)(data)}
    except Exception as e:
        answer = {"error": f"{type(e).__name__}: {e}"}
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()

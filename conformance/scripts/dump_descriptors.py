#!/usr/bin/env python3
"""Write the protobuf file descriptors that wheels carry, one file each.

    dump_descriptors.py WHEEL... DIRECTORY

A generated Python module holds its descriptor as a bytes literal, under a name that depends on
the version of protoc. The literal is taken from the source, so that no protobuf runtime is
needed and the age of the generated code does not matter.
"""

import ast
import pathlib
import sys
import zipfile


def descriptor(source):
    """The serialized FileDescriptorProto in the source of a generated module."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        for keyword in node.keywords:
            if keyword.arg == "serialized_pb" and isinstance(keyword.value, ast.Constant):
                return keyword.value.value
        if isinstance(node.func, ast.Attribute) and node.func.attr == "AddSerializedFile":
            return ast.literal_eval(node.args[0])
    return None


def main():
    *wheels, directory = sys.argv[1:]
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    written = 0
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                wanted = name.startswith("p4/") or name == "google/rpc/status_pb2.py"
                if not wanted or not name.endswith("_pb2.py"):
                    continue
                found = descriptor(archive.read(name).decode())
                if found is None:
                    sys.exit(f"{wheel}: {name}: no descriptor found")
                stem = name.removesuffix("_pb2.py").replace("/", ".")
                (directory / f"{stem}.binpb").write_bytes(found)
                written += 1
    if written == 0:
        sys.exit("no descriptors in: " + " ".join(wheels))
    print(f"{written} descriptors in {directory}")


main()

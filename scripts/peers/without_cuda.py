"""Lets PyTorch's wheel run without the CUDA libraries that it is linked to: gigabytes that a CPU doesn't use.

    python3 scripts/peers/without_cuda.py FOLDER    of the installed torch's shared libraries

Each of them is stood in for by a library of its name whose functions all answer that there is no device. What runs on the
CPU is untouched. Needs a C compiler and binutils.
"""
import collections
import pathlib
import re
import subprocess
import sys

CUDA = re.compile(r"\b(lib(?:cu|nccl|nv)\w*\.so\.\d+)")
FUNCTION = re.compile(r"_*(cu|nccl|nv)\w*")
NO_DEVICE = 100  # cudaErrorNoDevice


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def wanted_of(library):
    """By CUDA library that this one is linked to: the functions it takes from there, by their version."""
    names = CUDA.findall(output("readelf", "--dynamic", "--wide", library))
    wanted = {name: collections.defaultdict(set) for name in names}
    file, file_of = None, {}  # of a version
    for kind, word in re.findall(r"\b(File|Name): (\S+)", output("readelf", "--version-info", "--wide", library)):
        if kind == "File":
            file = word
        else:
            file_of[word] = file
    for line in output("nm", "--dynamic", "--undefined-only", library).splitlines():
        symbol, _, version = line.split()[-1].partition("@")
        if file_of.get(version) in wanted:
            wanted[file_of[version]][version].add(symbol)
        elif names and not version and FUNCTION.fullmatch(symbol):
            wanted[names[0]][""].add(symbol)
    return wanted


def stand_in(folder, name, versions):
    code = "".join(f"int {s}(void) {{ return {NO_DEVICE}; }}\n" for s in sorted(set().union(*versions.values())))
    script = folder / "versions"
    nodes = [f"{version} {{ {'; '.join(sorted(symbols))}; }};" for version, symbols in versions.items() if version]
    script.write_text("\n".join(nodes or ["{ global: *; };"]))
    subprocess.run(["cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-x", "c", "-", f"-Wl,-soname,{name}",
                    f"-Wl,--version-script,{script}", "-o", str(folder / name)], input=code, text=True, check=True)
    script.unlink()


def main():
    folder = pathlib.Path(sys.argv[1])
    wanted = collections.defaultdict(lambda: collections.defaultdict(set))
    for library in folder.glob("*.so*"):
        if CUDA.fullmatch(library.name):
            continue
        for name, versions in wanted_of(str(library)).items():
            for version, symbols in versions.items():
                wanted[name][version] |= symbols
            wanted[name]
    for name, versions in wanted.items():
        stand_in(folder, name, versions)


main()

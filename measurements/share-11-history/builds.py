"""Where the sources of programs come from, and how each is built with `-O2 -g`. Nothing of theirs is kept here.

They are crates of crates.io, source packages of Debian and source distributions of PyPI, which their ordinary clients bring to
the scratch folder.
"""

import os
import subprocess

from lib.paths import REPOSITORY, scratch

LOADS = REPOSITORY / "programs" / "targets" / "history"

MANIFEST = """[package]
name = "{name}"
version = "0.0.0"
edition = "2021"
[[bin]]
name = "{name}"
path = "{load}"
[workspace]
[profile.release]
opt-level = 2
debug = true
[dependencies]
{dependencies}
"""


def crate(load, version, dependencies):
    """A load of ours on these versions of crates: {name: version}, or {name: (version, features)}."""
    name = f"{load}-{version.replace('.', '-')}"
    folder = scratch("history") / name
    folder.mkdir(exist_ok=True)
    wanted = "\n".join(dependency(*item) for item in dependencies.items())
    (folder / "Cargo.toml").write_text(MANIFEST.format(name=name, load=LOADS / f"{load}.rs", dependencies=wanted))
    sh(["cargo", "build", "-q", "--release", "--target-dir", folder / "target"], folder)
    return folder / "target" / "release" / name


def dependency(name, wanted):
    version, features = (wanted, []) if isinstance(wanted, str) else wanted
    quoted = ", ".join(f'"{feature}"' for feature in features)
    return f'{name} = {{ version = "={version}", features = [{quoted}] }}'


def installed_crate(name, version):
    """A program of crates.io."""
    root = scratch("history") / f"{name}-{version}"
    program = root / "bin" / name
    if not program.exists():
        debugging = {"CARGO_PROFILE_RELEASE_DEBUG": "true", "CARGO_PROFILE_RELEASE_STRIP": "none", "CARGO_PROFILE_RELEASE_LTO": "off",
                     "CARGO_PROFILE_RELEASE_OPT_LEVEL": "2"}
        sh(["cargo", "install", "-q", "--locked", "--root", root, "--target-dir", root / "target", f"{name}@{version}"], root.parent, debugging)
    return program


def debian(package, build):
    """The unpacked sources of a Debian package, built once by `build(folder)`."""
    folder = scratch("history") / package
    if not folder.exists():
        sources = scratch("history-debian")
        if not list(sources.glob(f"{package}_*.dsc")):
            apt("source", "--download-only", package, folder=sources)
        sh(["dpkg-source", "--no-check", "-x", sorted(sources.glob(f"{package}_*.dsc"))[-1], folder], sources)
    if not (folder / "built").exists():
        build(folder)
        (folder / "built").touch()
    return folder


def apt(*words, folder):
    """apt-get with lists of its own, that have source packages."""
    own = scratch("history-apt")
    for part in ("lists/partial", "cache/archives/partial"):
        (own / part).mkdir(parents=True, exist_ok=True)
    listed = own / "sources.list"
    options = [f"Dir::Etc::SourceList={listed}", "Dir::Etc::SourceParts=/dev/null", f"Dir::State::Lists={own / 'lists'}",
               f"Dir::Cache={own / 'cache'}", "APT::Sandbox::User="]
    command = ["apt-get", "-q", *(word for option in options for word in ("-o", option))]
    if not listed.exists():
        # From where this machine has its packages.
        known = sh(["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]).splitlines()
        listed.write_text("".join(f"deb-src {place}\n" for place in sorted(set(known))))
        sh([*command, "update"])
    sh([*command, *words], folder)


def pypi(package, version, build):
    """The unpacked source distribution of a package, built once by `build(folder)`."""
    sources = scratch("history-pypi")
    folder = sources / f"{package}-{version}"
    if not folder.exists():
        sh(["python3", "-m", "pip", "-q", "download", "--no-deps", "--no-binary", package, f"{package}=={version}"], sources)
        sh(["tar", "xf", f"{folder.name}.tar.gz"], sources)
    if not (folder / "built").exists():
        build(folder)
        (folder / "built").touch()
    return folder


def sh(command, folder=None, env=None):
    done = subprocess.run([str(word) for word in command], cwd=folder, env={**os.environ, **(env or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-2000:]}")
    return done.stdout
